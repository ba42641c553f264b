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

// promptAgain queues the prompt of a step whose agent has begun its session without it, as a runtime may
// that has forgotten its command line over a dialog: it has ack_timeout to take it. That is done once for an
// agent: its row says so, and is written with the delivery, so that a hook that tells of the prompt meanwhile
// comes first. due: out is what the step comes to.
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
	// A turn that waits for hooks of the user's has begun on the screen already.
	if screen.Holds(text) || hasPrompt(transcriptTail(a), runtimes.FirstPrompt(s.Input), text) {
		return out, false
	}
	return r.queueStepPrompt(a, text), true
}

// promptForgotten is promptAgain for an agent that forgot its prompt and was given another one before anybody noticed:
// what it did is not its step. h is the handoff that may say why it has ended.
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

// forgot returns the prompt of its step, as it can be typed, if an agent was given prompts and never that one; else "".
// Its transcript must be whole and have one of the others, which come after that of the command line: else it proves
// nothing. No hook need have told of them, and the handoff's instruction is one.
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
	sessions, err := r.d.Store.Events(r.ctx, EventFilter{AgentID: a.ID, Types: []string{"agent_session_changed"}, Limit: 1})
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

// queueStepPrompt queues the prompt of a step's agent to be typed.
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

// hasPrompt reports whether the transcript of a step's first agent has one of the texts as a prompt, at whatever time: its
// session began with it, and the clock may have been set back since, also while no daemon ran that would know.
func hasPrompt(jsonl []byte, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return runtimes.TranscriptHasPrompt(jsonl, text, time.Time{}) })
}

// typedPrompt is a step's prompt as it can be typed.
func (r *pipelineRun) typedPrompt(s *Step, a *Agent) (string, error) {
	text := runtimes.FirstPrompt(s.Input)
	if safe, err := runtimes.SafePrompt(text); err == nil && len(text) <= maxMessage && checkTyped(text) == nil {
		return safe, nil
	}
	_, words, err := r.d.taskFile(a, s)
	return words, err
}

// takenAfterAll reports whether a step's agent has taken the prompt of its command line since that was
// queued to be typed.
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

// lastPrompt is the last prompt of an agent that a hook told of. A hook that can't be read tells of nothing.
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

// startedWith reports whether a delivery is the prompt that the agent was started with.
func (a *Agent) startedWith(dl *Delivery) bool {
	return a.FirstPromptID != nil && *a.FirstPromptID == dl.ID
}
