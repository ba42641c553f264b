package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// promptAgain queues a step's prompt to be typed if the step's agent has begun its session without it: a runtime that opens
// a dialog before the session may forget the prompt of its command line. The runtime has ack_timeout to take that prompt. An
// agent is prompted again once: FirstPromptID says so. The agent's row is written with the delivery, so that of this and a
// hook that reports the prompt the second gets ErrMoved. due: out is what the step comes to.
func (r *pipelineRun) promptAgain(s *Step, a *Agent) (out runOutcome, due bool) {
	if a.PreviousAgentID != nil || a.FirstPromptID != nil || a.RegisteredAt == nil || a.State != Idle ||
		a.LastPrompt != 0 || a.WorkStop != 0 || a.StopAskedAt != nil || !a.HasPane() {
		return out, false
	}
	if wait := r.d.timeLeft(*a.RegisteredAt, r.d.Settings.Handoff.AckTimeout); wait > 0 {
		return runOutcome{again: wait, note: r.p.Note}, true
	}
	screen, _, _ := r.d.composer(r.ctx, a)
	if screen == nil {
		return out, false
	}
	text, err := r.typedPrompt(s, a)
	if err != nil {
		return runOutcome{err: err}, true
	}
	// While hooks of the user's hold up the report of the prompt, the screen or the transcript shows that it was taken.
	if screen.Holds(text) || hasPrompt(transcriptTail(a), runtimes.FirstPrompt(s.Input), text) {
		return out, false
	}
	return r.queueStepPrompt(a, text), true
}

// promptForgotten is promptAgain for an agent that forgot its prompt and was given another one before the daemon noticed. The
// turn that it has ended is not its step. h is the agent's handoff, for the failure of an agent that has ended.
func (r *pipelineRun) promptForgotten(s *Step, a *Agent, h *Handoff) (out runOutcome, due bool) {
	text, err := r.forgot(s, a)
	switch {
	case err != nil:
		return runOutcome{err: err}, true
	case text == "":
		return out, false
	case !a.Active():
		return r.failStep(s, a, h, r.gone(a, h)), true
	case a.StopAskedAt != nil || !a.HasPane():
		return runOutcome{again: time.Second, note: r.p.Note}, true
	}
	return r.queueStepPrompt(a, text), true
}

// forgot returns the prompt of a step, as it can be typed, if the step's agent was given other prompts and never that one;
// otherwise "". The transcript proves it only if it is read whole and has another prompt, since the one of the command line
// would come first. Hooks may have reported none of them, and a handoff's instruction is one of them.
func (r *pipelineRun) forgot(s *Step, a *Agent) (text string, err error) {
	if a.PreviousAgentID != nil {
		return "", nil
	}
	if a.FirstPromptID != nil {
		dl, err := r.d.Store.Delivery(r.ctx, *a.FirstPromptID)
		if err != nil || dl.has(Submitted) || dl.Open() && a.Active() {
			return "", err
		}
	}
	last, _, err := r.d.lastPrompt(r.ctx, a)
	first := runtimes.FirstPrompt(s.Input)
	if err != nil || runtimes.MatchesPrompt(last, first) {
		return "", err
	}
	sessions, err := r.d.Store.Events(r.ctx, event.Filter{AgentID: a.ID, Types: []string{"agent_session_changed"}, Limit: 1})
	if err != nil || len(sessions) > 0 {
		return "", err
	}
	if text, err = r.typedPrompt(s, a); err != nil {
		return "", err
	}
	jsonl := transcriptTail(a)
	if len(jsonl) == transcriptEnd || !runtimes.Prompted(jsonl) || hasPrompt(jsonl, first, text) {
		return "", nil
	}
	return text, nil
}

// queueStepPrompt queues a step's prompt to be typed to the step's agent.
func (r *pipelineRun) queueStepPrompt(a *Agent, text string) runOutcome {
	id, err := r.d.Store.NextID(r.ctx, DeliveryIDs)
	if err != nil {
		return runOutcome{err: err}
	}
	a.FirstPromptID = &id
	dl := &Delivery{ID: id, AgentID: a.ID, Kind: KindMessage, Text: text, State: DeliveryQueued, CreatedAt: r.now,
		Evidence: "the runtime did not take the prompt of its command line"}
	e := r.d.event(event.DeliveryQueued, &a.ID, nil, map[string]any{"delivery_id": id, "kind": dl.Kind, "evidence": dl.Evidence})
	return runOutcome{with: &Change{Agents: []*Agent{a}, NewDeliveries: []*Delivery{dl}, Events: []*event.Event{e}}}
}

// hasPrompt reports whether the transcript of a step's first agent has one of the texts as a prompt. The prompt's time does not
// count: the session began with it, and somebody may have set the clock back while no daemon ran.
func hasPrompt(jsonl []byte, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return runtimes.TranscriptHasPrompt(jsonl, text, time.Time{}) })
}

// typedPrompt returns a step's prompt as it can be typed: the prompt itself or, if that can't be typed, words that name a
// file with it.
func (r *pipelineRun) typedPrompt(s *Step, a *Agent) (string, error) {
	text := runtimes.FirstPrompt(s.Input)
	if safe, err := runtimes.SafePrompt(text); err == nil && len(text) <= maxMessage && checkTyped(text) == nil {
		return safe, nil
	}
	_, words, err := r.d.taskFile(a, s)
	return words, err
}

// takenAfterAll reports whether a step's agent has taken the prompt of its command line after promptAgain had queued it in dl.
func (d *Daemon) takenAfterAll(ctx context.Context, a *Agent, dl *Delivery) (bool, error) {
	if a.StepID == nil || !a.startedWith(dl) {
		return false, nil
	}
	last, _, err := d.lastPrompt(ctx, a)
	if err != nil {
		return false, fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	return runtimes.MatchesPrompt(last, dl.Text), nil
}

// lastPrompt returns the last prompt that gave an agent work. told: a hook that can be parsed reported it.
func (d *Daemon) lastPrompt(ctx context.Context, a *Agent) (prompt string, told bool, err error) {
	if a.LastPrompt == 0 {
		return "", false, nil
	}
	hook, err := d.Store.StoredHook(ctx, a.LastPrompt)
	if err != nil {
		return "", false, err
	}
	p, err := hooks.Parse(hook.Event, hook.Body)
	if err != nil {
		return "", false, nil
	}
	return p.Prompt, true, nil
}

// startedWith reports whether a delivery is the agent's first prompt.
func (a *Agent) startedWith(dl *Delivery) bool {
	return a.FirstPromptID != nil && *a.FirstPromptID == dl.ID
}
