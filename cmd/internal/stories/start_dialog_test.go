package stories

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux"
)

// answerTrust answers in the agent's pane that the folder is trusted.
func answerTrust(r *rig, agentID int64) {
	r.t.Helper()
	r.personPresses(agentID, tmux.Down, tmux.Enter)
}

// awaitAsked waits until an agent without a session waits for a person, and checks that the operator was told in
// time.
func awaitAsked(r *rig, id int64, asks string) daemon.Agent {
	r.t.Helper()
	a := r.awaitAgent(id, "waits for "+asks, func(a daemon.Agent) bool { return a.State == daemon.Waiting && a.WaitsFor == asks })
	if a.RegisteredAt != nil {
		r.t.Errorf("agent %d waits with a session", id)
	}
	return a
}

const trusts = "trust: may the agent work in this folder?"

// TestStartWaitsForADialogBeforeTheSession: No hook reports a dialog that the runtime opens before the session. The
// person who starts an agent is told at once what to do. The time to register does not run out while the dialog is
// open. After the answer everything goes on by itself. The same holds for a successor.
func TestStartWaitsForADialogBeforeTheSession(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.RegistrationTimeout = 1500 * time.Millisecond
		r.misbehave("trust,login")
		r.start()
		s := sit(r, false, "agent", "start", con, "--cwd", r.work, "--prompt", "say hello to the folder", "--wait")
		awaitAsked(r, 1, "login: log in with the browser")
		r.personPresses(1, tmux.Enter)
		asked := awaitAsked(r, 1, trusts)
		s.awaitPrinted("agent 1 waits for you .trust: may the agent work in this folder.*`understudy agent attach 1 ", 1)
		r.await("the operator is told", func() (bool, string) {
			told := r.agentEvents(1, "operator_notified")
			return len(told) > 0 && strings.Contains(field(t, told[0], "message").(string), "understudy agent attach 1"), ""
		})
		for _, e := range r.eventsWhere(func(event.Event) bool { return true }) {
			if strings.Contains(string(e.Payload), "SECRET") || strings.Contains(string(e.Payload), "://") {
				t.Errorf("event %s has what a login shows: %s", e.Type, e.Payload)
			}
		}
		r.await("the time to register is over", func() (bool, string) {
			return time.Since(asked.StateAt) > 2*r.cfg.Settings.Handoff.RegistrationTimeout, ""
		})
		if a := r.getAgent(1); a.State != daemon.Waiting || a.Note != "" {
			t.Errorf("after the time to register: %s, note %q", a.State, a.Note)
		}
		answerTrust(r, 1)
		s.wantExit(0)
		first := r.deliveries(1)[0]
		if a := r.getAgent(1); a.FirstPromptID == nil || *a.FirstPromptID != first.ID || first.Verdict == nil || *first.Verdict != daemon.Submitted {
			t.Errorf("first prompt %v when the command says that it was taken: %+v", a.FirstPromptID, first)
		}
		r.wantTold(1, "say hello to the folder")

		r.misbehave("trust")
		r.awaitState(1, daemon.Idle)
		id := r.requestHandoff(1)
		h := r.awaitPhase(id, daemon.AwaitingRegistration)
		awaitAsked(r, *h.SuccessorID, trusts)
		h = r.awaitNote(id, "a dialog is open in the pane of agent 2 (‹"+trusts+"›): answer it with `understudy agent attach 2`")
		if h.Deadline == nil || time.Until(*h.Deadline) < time.Minute {
			t.Errorf("the person has until %v", h.Deadline)
		}
		r.await("the phase's own time is over", func() (bool, string) {
			return time.Since(h.Deadline.Add(-time.Hour)) > 2*r.cfg.Settings.Handoff.RegistrationTimeout, ""
		})
		answerTrust(r, *h.SuccessorID)
		r.awaitPhase(id, daemon.Completed)
	})
}
