package pipelines

import (
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
)

// promptAgain queues the prompt of a step once more if the step's agent has lost it and got another prompt before the daemon noticed. Such an
// agent has ended a turn, but not the turn of its step, whose time may be over now: left is what is left of it. h is the agent's handoff,
// for the failure of the step. due says that the look at the step ends here, with out as its result.
func (r *pipelineRun) promptAgain(s *daemon.Step, a *daemon.Agent, h *daemon.Handoff, left time.Duration) (out runOutcome, due bool) {
	lost, waits, err := r.lostPrompt(a)
	switch {
	case err != nil:
		return runOutcome{err: err}, true
	case !lost && !(waits && left <= 0):
		return out, false
	case !a.Active():
		return r.failStep(s, a, h, r.gone(a, h)), true
	case left <= 0:
		return r.failStep(s, a, h, timedOut(r, s)), true
	case a.StopAskedAt != nil || !a.HasPane():
		return runOutcome{again: time.Second, note: r.p.Note}, true
	}
	c := &daemon.Change{Agents: []*daemon.Agent{a}}
	if err := agents.PromptStep(r.ctx, r.room.env.Launcher, a, s, c); err != nil {
		return runOutcome{err: err}, true
	}
	dl := c.NewDeliveries[0]
	dl.Evidence = "the runtime did not take the prompt of the step"
	c.Events = append(c.Events, engine.EventAbout(r.room.env.Engine, event.DeliveryQueued, a, map[string]any{"delivery_id": dl.ID, "kind": dl.Kind, "evidence": dl.Evidence}))
	return runOutcome{with: c}, true
}

// lostPrompt reports whether the agent of a step got other prompts but never that of its step. The transcript proves this only if it was read
// whole and has another prompt. Hooks may have reported none of these other prompts. The instruction of a handoff is one of them. waits: the
// prompt waits to be given to the agent, or for its verdict, and the transcript does not show that the agent has taken it.
func (r *pipelineRun) lostPrompt(a *daemon.Agent) (lost, waits bool, err error) {
	if a.PreviousAgentID != nil || a.FirstPromptID == nil {
		return false, false, nil
	}
	given, err := r.room.store.Delivery(r.ctx, *a.FirstPromptID)
	if err != nil || given.Has(daemon.Submitted) {
		return false, false, err
	}
	last, _, err := r.room.env.LastPrompt(r.ctx, a)
	refused := given.Has(daemon.NotSubmitted) // although its hook may have come last
	if err != nil || !refused && runtimes.MatchesPrompt(last, given.Text) {
		return false, false, err
	}
	// The time of a prompt in the transcript does not matter: somebody may have set the clock back while no daemon ran.
	jsonl, rt := sight.TranscriptTail(a), r.room.env.RuntimeOf(a)
	has := rt.TranscriptHolds(jsonl, given.Text)
	if given.Open() && a.Active() {
		return false, !has, nil
	}
	sessions, err := r.room.store.Events(r.ctx, event.Filter{AgentID: a.ID, Types: []string{"agent_session_changed"}, Limit: 1})
	if err != nil || len(sessions) > 0 {
		return false, false, err
	}
	return len(jsonl) != sight.TranscriptEnd && rt.Prompted(jsonl) && !has, false, nil
}
