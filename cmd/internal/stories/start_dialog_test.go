package stories

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// answerTrust answers in the agent's pane that the folder is trusted.
func (r *rig) answerTrust(agentID int64) {
	r.t.Helper()
	r.personPresses(agentID, tmux.Down, tmux.Enter)
}

// awaitAsked waits until an agent without a session waits for a person, and checks that the operator was told in
// time.
func (r *rig) awaitAsked(id int64, asks string) daemon.Agent {
	r.t.Helper()
	a := r.awaitAgent(id, "waits for "+asks, func(a daemon.Agent) bool { return a.State == daemon.Waiting && a.WaitsFor == asks })
	if a.RegisteredAt != nil {
		r.t.Errorf("agent %d waits with a session", id)
	}
	return a
}

const trusts = "trust: may the agent work in this folder?"

// TestPromptLostAtStartIsTypedOnce: The runtime forgets the prompt of its command line. The daemon types it, once.
func TestPromptLostAtStartIsTypedOnce(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.AckTimeout = 5 * time.Second
		r.misbehave("trust,lost-prompt")
		r.writeTemplate("two", "developer", "reviewer")
		r.start()
		id := r.startPipeline("two", roof).ID
		a := r.awaitPipelineThat(id, "its agent", func(p daemon.Pipeline) bool { return len(p.Steps[0].AgentIDs) > 0 }).Steps[0].AgentIDs[0]
		r.awaitAsked(a, trusts)
		r.answerTrust(a)
		r.misbehave("")
		r.awaitPipelineThat(id, "the next step", func(p daemon.Pipeline) bool { return p.Steps[0].Status == daemon.StepDone })
		if list := r.deliveries(a); len(list) == 0 || list[0].Verdict == nil || *list[0].Verdict != daemon.Submitted {
			t.Errorf("the prompt was not typed: %+v", list)
		}
		r.wantTold(a, "Mend the roof.")
	})
}
