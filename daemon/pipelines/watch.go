package pipelines

import (
	"cmp"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// goneLate is how long the daemon waits for an agent's last hook after the end of the agent's process, because the hook's
// command outlives the agent. If a hook arrives within that time, the daemon also waits until the hook is applied.
const goneLate = time.Second

// watchStep looks at the agent of a running step. It ends the step if the agent's turn is over, and fails it if the turn
// can't end well any more. While the agent's limit is seen to, the step waits, however long that takes.
func (r *pipelineRun) watchStep(s *daemon.Step) runOutcome {
	a, h, err := r.worker(s)
	if err != nil {
		return runOutcome{err: err}
	}
	handing := h != nil && h.Open()
	left := r.stepLeft(s, a)
	switch {
	case !handing && a.TurnOver():
		if wait, err := r.goesOn(s, a); err != nil || wait > 0 && left > 0 {
			return runOutcome{err: err, again: min(wait, left), note: r.p.Note}
		}
		if out, due := r.promptAgain(s, a, h, left); due {
			return out
		}
		return r.takeOutput(s, a)
	case !handing && r.room.env.FactsFor(a).SeesToLimit(a):
		return runOutcome{again: daemon.LimitLook, note: fmt.Sprintf("agent %d %s: %s", a.ID, views.LimitOrTrouble(a), cmp.Or(views.LimitWords(a), "it is seen to"))}
	case !handing && a.Active() && a.Hold.Is(daemon.HoldBudget):
		return runOutcome{again: time.Minute, note: fmt.Sprintf("agent %d is %s", a.ID, a.Hold.Words())}
	case left <= 0 && !handing && a.WorkDone():
		if out, due := r.promptAgain(s, a, h, left); due {
			return out
		}
		return r.takeOutputLate(s, a)
	case left <= 0 && a.AsksBeforeSession():
		_, asked := r.room.env.StartDeadline(a)
		return r.failStep(s, a, h, failure{code: daemon.CodeStepTimeout, says: fmt.Sprintf("Nobody answered the dialog in the pane of agent %d within %s", a.ID, asked),
			hint: fmt.Sprintf("put right what it asks for, then `understudy pipeline resume %d`", r.p.ID)})
	case left <= 0:
		return r.failStep(s, a, h, timedOut(r, s))
	case handing:
		return runOutcome{again: left, note: fmt.Sprintf("agent %d is being handed over (handoff %d)", h.AgentID, h.ID)}
	case a.TurnError != "":
		return r.failStep(s, a, h, failure{code: daemon.CodeRuntimeError, says: "The agent's runtime reported an error instead of finishing: " + words.TrimDot(a.TurnError)})
	case !a.Active() && a.LastPrompt > 0 && (r.room.env.TimeSpent(*a.EndedAt) < goneLate || r.room.env.Arriving(a)):
		return runOutcome{again: goneLate / 5, note: r.p.Note}
	case !a.Active():
		return r.failStep(s, a, h, r.gone(a, h))
	}
	if a.WorkDone() { // with tasks in the background, which may run for ever
		if out, due := r.promptAgain(s, a, h, left); due {
			return out
		}
	}
	out := r.stepNote(a, h)
	out.again = engine.ShorterWait(out.again, left)
	return out
}

// timedOut returns the failure of a step that has taken too long.
func timedOut(r *pipelineRun, s *daemon.Step) failure {
	return failure{code: daemon.CodeStepTimeout, says: "Step timed out after " + seconds(s.TimeLimit(r.set)) + "s",
		hint: fmt.Sprintf("look at what it did, then `understudy pipeline resume %d`, or start a new pipeline with a longer timeout: a pipeline keeps the limits of its template", r.p.ID)}
}

// stepLeft returns how long a step may still take. The time in which a dialog before the agent's session waits for a person
// does not count.
func (r *pipelineRun) stepLeft(s *daemon.Step, a *daemon.Agent) time.Duration {
	switch {
	case a.AsksBeforeSession():
		return r.room.env.TimeLeft(r.room.env.StartDeadline(a))
	case a.LimitTriedAt != nil && a.LimitTriedAt.After(*s.StartedAt):
		return r.room.env.TimeLeft(*a.LimitTriedAt, s.TimeLimit(r.set))
	case a.AnsweredAt != nil && a.AnsweredAt.After(*s.StartedAt):
		return r.room.env.TimeLeft(*a.AnsweredAt, s.TimeLimit(r.set))
	}
	return r.room.env.TimeLeft(*s.StartedAt, s.TimeLimit(r.set))
}

// goesOn reports whether an agent whose turn is over may go on, because a message for it is queued, or a person has
// queued a prompt in its pane. If so, it returns after how long to look again; otherwise 0.
func (r *pipelineRun) goesOn(s *daemon.Step, a *daemon.Agent) (time.Duration, error) {
	if !a.Active() {
		return 0, nil
	}
	open, err := r.room.store.OpenDeliveries(r.ctx, a.ID)
	if err != nil {
		return 0, err
	}
	for _, dl := range open {
		if dl.Kind == daemon.KindMessage || dl.Kind == daemon.KindCommand {
			return time.Second, nil
		}
	}
	return r.queuedBehind(s, a)
}

// queuedBehind reports whether the agent may go on with a prompt that a person queued during the turn that has ended. If
// so, it returns after how long to look again; otherwise 0. No hook reports that the agent goes on, but the registry says
// busy again. If the last prompt was the step's own, no prompt is queued.
func (r *pipelineRun) queuedBehind(s *daemon.Step, a *daemon.Agent) (time.Duration, error) {
	last, told, err := r.room.env.LastPrompt(r.ctx, a)
	if err != nil || !told || runtimes.MatchesPrompt(last, s.Input) {
		return 0, err
	}
	if !r.room.env.Look(a).Settled() {
		return sight.ForkSettle / 3, nil
	}
	return 0, nil
}

// worker returns the agent that works on a running step, and its handoff as handoffOf does. The pipeline was read before
// the agent. In between, a handoff may have made a successor, which neither the pipeline as it was read nor the Rev of
// the agent's row shows. So worker reads the step again. If the step has another agent, worker returns ErrMoved.
func (r *pipelineRun) worker(s *daemon.Step) (*daemon.Agent, *daemon.Handoff, error) {
	a, err := r.room.store.Agent(r.ctx, s.NewestAgent())
	if err != nil {
		return nil, nil, err
	}
	_, now, err := r.room.env.StepOf(r.ctx, &a)
	switch {
	case err != nil:
		return nil, nil, err
	case now.NewestAgent() != a.ID:
		return nil, nil, fmt.Errorf("agent %d has taken over from agent %d: %w", now.NewestAgent(), a.ID, daemon.ErrMoved)
	}
	h, err := r.handoffOf(&a)
	return &a, h, err
}

// handoffOf returns the newest handoff of an agent or, if it has none, the one whose successor it is; nil: there is neither.
func (r *pipelineRun) handoffOf(a *daemon.Agent) (*daemon.Handoff, error) {
	for _, f := range []daemon.HandoffFilter{{AgentID: a.ID, Limit: 1}, {SuccessorID: a.ID, Limit: 1}} {
		if f.SuccessorID != 0 && a.PreviousAgentID == nil {
			break
		}
		list, err := r.room.store.Handoffs(r.ctx, f)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return &list[0], nil
		}
	}
	return nil, nil
}

// stepNote returns the note of a running step.
func (r *pipelineRun) stepNote(a *daemon.Agent, h *daemon.Handoff) runOutcome {
	dialog := runOutcome{alert: true, note: fmt.Sprintf("a dialog waits in the pane of agent %d: answer it with `understudy agent attach %[1]d`", a.ID)}
	asked := a.LastPrompt > a.WorkStop || a.WorkStop == 0 && h != nil && h.Phase == daemon.Completed
	switch {
	case a.State == daemon.Waiting:
		return dialog
	case a.State == daemon.Idle && asked && r.room.env.QuietFor(a.ID, sight.Settle):
		return runOutcome{alert: true, note: fmt.Sprintf(noteInterrupted, a.ID, r.p.ID)}
	case a.State == daemon.Idle && a.BackgroundTasks > 0:
		return runOutcome{note: "its agent has background tasks"}
	}
	return runOutcome{note: a.Hold.Words()}
}

// noteInterrupted is the note of a step whose agent was interrupted.
const noteInterrupted = "its agent is idle without having ended its turn, as after Esc: prompt it in its pane, `understudy agent attach %d`, or abort the pipeline, `understudy pipeline abort %d`"

// gone returns the failure of a step whose agent has ended.
func (r *pipelineRun) gone(a *daemon.Agent, h *daemon.Handoff) failure {
	reason := "unknown"
	if a.EndReason != nil {
		reason = words.Log(event.EndWords(*a.EndReason))
	}
	f := failure{code: daemon.CodeAgentGone, says: fmt.Sprintf("Agent %d ended before its turn was over (%s)", a.ID, words.TrimDot(reason)),
		hint: fmt.Sprintf("`understudy pipeline resume %d` begins the step again", r.p.ID)}
	if a.StopAskedAt != nil {
		f.says = fmt.Sprintf("Agent %d was stopped before its turn was over", a.ID)
	}
	if h != nil && h.Phase == daemon.Failed && h.RecordedAt != nil {
		f.says += fmt.Sprintf("; its handoff %d failed in phase %s", h.ID, h.Error.Phase)
		f.hint = fmt.Sprintf("`understudy pipeline resume %d` goes on with what that recorded", r.p.ID)
	}
	return f
}
