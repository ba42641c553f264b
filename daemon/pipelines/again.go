package pipelines

import (
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
)

// promptAgain queues a step's prompt if the step's agent has begun its session without it. A runtime that opens a dialog
// before the session may forget the prompt of its command line; it has until UntilForgotten to take that prompt. promptAgain does
// so once for an agent, as FirstPromptID shows. It writes the agent's row together with the delivery: if a hook reports
// the prompt at the same time, the second of the two gets ErrMoved. due says that the look at the step ends here, with
// out as its result.
func (r *pipelineRun) promptAgain(s *daemon.Step, a *daemon.Agent) (out runOutcome, due bool) {
	if a.PreviousAgentID != nil || a.FirstPromptID != nil || a.RegisteredAt == nil || a.State != daemon.Idle ||
		a.LastPrompt != 0 || a.WorkStop != 0 || a.StopAskedAt != nil || !a.HasPane() {
		return out, false
	}
	if r.room.env.RuntimeOf(a).Can.Registers == runtimes.RegistersByServer { // its command line has no prompt
		text, err := r.typedPrompt(s, a)
		if err != nil {
			return runOutcome{err: err}, true
		}
		return r.queueStepPrompt(a, text, ""), true
	}
	holds, wait := agents.FirstPrompt(r.ctx, r.room.env.Supervisor, a)
	switch {
	case wait > 0:
		return runOutcome{again: wait, note: r.p.Note}, true
	case holds == nil:
		return out, false
	}
	text, err := r.typedPrompt(s, a)
	if err != nil {
		return runOutcome{err: err}, true
	}
	// Queue nothing if the screen or the transcript shows that the prompt was taken: the user's own hooks may delay the
	// report of it.
	if holds(text) || hasPrompt(r.room.env.RuntimeOf(a), sight.TranscriptTail(a), runtimes.FirstPrompt(s.Input), text) {
		return out, false
	}
	return r.queueStepPrompt(a, text, promptNotTaken), true
}

// promptForgotten does what promptAgain does for an agent that forgot its prompt and got another prompt before the daemon
// noticed. Such an agent has ended a turn, but not the turn of its step, whose time may be over now: left is what is left of it.
// h is the agent's handoff, for the failure of the step.
func (r *pipelineRun) promptForgotten(s *daemon.Step, a *daemon.Agent, h *daemon.Handoff, left time.Duration) (out runOutcome, due bool) {
	text, waits, err := r.forgot(s, a)
	switch {
	case err != nil:
		return runOutcome{err: err}, true
	case text == "" && !(waits && left <= 0):
		return out, false
	case !a.Active():
		return r.failStep(s, a, h, r.gone(a, h)), true
	case left <= 0:
		return r.failStep(s, a, h, timedOut(r, s)), true
	case a.StopAskedAt != nil || !a.HasPane():
		return runOutcome{again: time.Second, note: r.p.Note}, true
	}
	return r.queueStepPrompt(a, text, promptNotTaken), true
}

// forgot returns the prompt of a step, in a form that can be typed, if the step's agent got other prompts but never this
// one; otherwise "". The transcript proves this only if it was read whole and has another prompt, because the prompt of
// the command line would come first. Hooks may have reported none of these other prompts. The instruction of a handoff is
// one of them. waits: that was found before, and the prompt waits to be given to the agent, or for its verdict, and the transcript does not
// show that the agent has taken it.
func (r *pipelineRun) forgot(s *daemon.Step, a *daemon.Agent) (text string, waits bool, err error) {
	if a.PreviousAgentID != nil {
		return "", false, nil
	}
	var given daemon.Delivery
	if a.FirstPromptID != nil {
		given, err = r.room.store.Delivery(r.ctx, *a.FirstPromptID)
		if err != nil || given.Has(daemon.Submitted) {
			return "", false, err
		}
	}
	last, _, err := r.room.env.LastPrompt(r.ctx, a)
	first := runtimes.FirstPrompt(s.Input)
	if err != nil || runtimes.MatchesPrompt(last, first) {
		return "", false, err
	}
	if given.ID != 0 && given.Open() && a.Active() {
		return "", !hasPrompt(r.room.env.RuntimeOf(a), sight.TranscriptTail(a), first, given.Text), nil
	}
	sessions, err := r.room.store.Events(r.ctx, event.Filter{AgentID: a.ID, Types: []string{"agent_session_changed"}, Limit: 1})
	if err != nil || len(sessions) > 0 {
		return "", false, err
	}
	if text, err = r.typedPrompt(s, a); err != nil {
		return "", false, err
	}
	jsonl, rt := sight.TranscriptTail(a), r.room.env.RuntimeOf(a)
	if len(jsonl) == sight.TranscriptEnd || !rt.Prompted(jsonl) || hasPrompt(rt, jsonl, first, text) {
		return "", false, nil
	}
	return text, false, nil
}

// promptNotTaken is the evidence of a step's prompt that is given once more.
const promptNotTaken = "the runtime did not take the prompt of its command line"

// queueStepPrompt queues a step's prompt for the step's agent. why is the delivery's evidence.
func (r *pipelineRun) queueStepPrompt(a *daemon.Agent, text, why string) runOutcome {
	id, err := r.room.store.NextID(r.ctx, daemon.DeliveryIDs)
	if err != nil {
		return runOutcome{err: err}
	}
	dl := daemon.NewDelivery(id, a.ID, daemon.KindMessage, text, "", r.now)
	dl.Evidence = why
	a.StartWith(dl)
	e := engine.EventAbout(r.room.env.Engine, event.DeliveryQueued, a, map[string]any{"delivery_id": id, "kind": dl.Kind, "evidence": dl.Evidence})
	return runOutcome{with: &daemon.Change{Agents: []*daemon.Agent{a}, NewDeliveries: []*daemon.Delivery{dl}, Events: []*event.Event{e}}}
}

// hasPrompt reports whether the transcript of a step's first agent has one of the texts as a prompt. The prompt's time
// does not matter, because the session began with that prompt, and somebody may have set the clock back while no daemon
// ran.
func hasPrompt(rt *runtimes.Runtime, jsonl []byte, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return rt.TranscriptHasPrompt(jsonl, text, nil) })
}

// typedPrompt returns a step's prompt in a form that can be typed. If the prompt can't be typed, typedPrompt writes it to
// a file and returns words that name the file.
func (r *pipelineRun) typedPrompt(s *daemon.Step, a *daemon.Agent) (string, error) {
	text := runtimes.FirstPrompt(s.Input)
	if safe, err := runtimes.SafePrompt(text); err == nil && len(text) <= deliveries.MaxMessage && deliveries.CheckTyped(text) == nil {
		return safe, nil
	}
	_, words, err := r.room.env.TaskFile(a, s)
	return words, err
}
