package daemon

import (
	"cmp"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

// Only this file writes the fields about a turn: those of an agent, and those of a handoff about the turn in which its
// document is written. Most changes come from hooks, in any phase of the handoff. The comment of each function names its
// caller.

// beginTurn notes a prompt that the runtime has taken. The agent's UserPromptSubmit calls it before it looks whose prompt that is. queued
// says that the prompt came while a turn ran: it becomes part of that turn, or begins a turn that no hook reports.
func (a *Agent) beginTurn(promptID string, queued bool) {
	a.TurnError = ""
	if !queued {
		a.TurnPromptID, a.StopCameAt, a.HandingOver = promptID, nil, false
	}
}

// endUnknownTurn notes the end of a turn whose prompt no hook has told yet: at is since when the agent is at rest. The hook of
// the prompt may still come, out of the spool.
func (a *Agent) endUnknownTurn(promptID string, at time.Time) {
	a.TurnPromptID = promptID
	a.restSince(at)
}

// restSince notes a sign of rest that came before the hook of its prompt: a hook of an earlier moment tells of no turn that runs.
func (a *Agent) restSince(at time.Time) {
	if a.AtRest() && at.After(a.StateAt) {
		a.StateAt = at
	}
}

// takeWork notes a prompt that gave the agent work of its own. The agent's UserPromptSubmit calls it after beginTurn,
// unless the prompt comes from a handoff or a pipeline, or reports the end of a background task.
// The operator has seen the turn before if they give the next one.
func (a *Agent) takeWork(hook int64, at time.Time, prompt string) {
	a.LastPrompt, a.LastPromptAt, a.HandingOver, a.Unread = hook, &at, false, false
	if a.Hold.Is(HoldBrokeOff) {
		a.release()
	}
	if asked := words.Clip(words.Line(prompt), maxAsked); asked != "" {
		a.Asked = asked
	}
}

// endTask notes the end of a background task. The UserPromptSubmit that reports the end calls it. The Stop of the
// turn says how many tasks are left; the StopFailure of a failed turn does not.
func (a *Agent) endTask(notification string) {
	a.BackgroundTasks, a.Background = max(a.BackgroundTasks-1, 0), a.Background.withoutTask(notification)
}

// takeInstruction notes that the running turn writes a handoff's document. It is called at the first evidence that the
// instruction was taken: the hook that confirms its delivery, the delivery's verdict without a hook, or the Stop that is
// answered with the instruction.
func (a *Agent) takeInstruction() { a.HandingOver = true }

// loseInstruction undoes takeInstruction. It is called if the Stop that was answered with the instruction comes again out
// of the spool, because its sender never got the answer.
func (a *Agent) loseInstruction() { a.HandingOver = false }

// endTurn notes that a turn ended well, unless another hook has it go on. The agent's Stop calls it, also a Stop that comes after the
// agent's end. own says that the turn was for the agent's own work, and not for a handoff's document. No hook may have told the prompt of
// the turn: then the Stop is the first to name it.
func (a *Agent) endTurn(hook int64, stop *hooks.Payload, own bool) {
	a.LastStop, a.BackgroundTasks, a.Background, a.TurnError = hook, stop.BackgroundTasks, backgroundOf(stop), ""
	a.TurnPromptID = cmp.Or(stop.PromptID, a.TurnPromptID)
	if own {
		a.WorkStop = hook
	} else {
		a.takeInstruction() // the turn may go on, and its next Stop ends no work either
	}
}

// leaveTurn notes that the turn whose Stop has come is over, and returns when that Stop came.
func leaveTurn(a *Agent) (stop time.Time) {
	stop = *a.StopCameAt
	a.StopCameAt, a.HandingOver = nil, false
	return stop
}

// failTurn notes that the runtime ended a turn with an error. The agent's StopFailure calls it. It clears
// LastMessage, because the answer of an earlier turn would pass for the answer of this one. If the turn had a Stop that another
// hook has blocked, that Stop has ended no work.
func (a *Agent) failTurn(t Trouble) {
	if a.StopCameAt != nil {
		a.WorkStop, a.StopCameAt = 0, nil
	}
	a.Trouble, a.TurnError, a.LastMessage, a.HandingOver = &t, t.Words(), "", false
}

// refuseTurn notes that no turn runs, because another hook has refused its prompt. why says so.
func (a *Agent) refuseTurn(why string) { a.TurnError, a.HandingOver = why, false }

// retryTurn notes that the API refuses the requests of the running turn. The agent's RetryStarted calls it.
func (a *Agent) retryTurn(t Trouble) { a.Trouble = &t }

// endRetrying notes that no turn runs any more whose request the runtime sends again. [Agent.be] calls it. The trouble itself
// lasts until the API answers.
func (a *Agent) endRetrying() {
	if a.Trouble != nil && a.Trouble.Retrying && a.State != Working {
		t := *a.Trouble
		t.Retrying, a.Trouble = false, &t
	}
}

// endTrouble ends the trouble of an agent and returns the event, in which by says what ended the trouble; nil: the agent
// was in none. The Stop of a turn that ended well calls it, the RetryEnded, and the end of the agent.
func (f *Facts) endTrouble(a *Agent, by string) *event.Event {
	if a.Trouble == nil {
		return nil
	}
	e := f.event(event.AgentTroubleOver, &a.ID, nil, map[string]any{"code": a.Trouble.Code, "since": a.Trouble.Since, "by": by}).For(a.PipelineID, a.StepID)
	a.Trouble = nil
	return e
}

// expectInstruction names the delivery of a new instruction, and clears what hooks noted about an earlier one. The
// step that queues the instruction calls it.
func (h *Handoff) expectInstruction(delivery int64) {
	h.DeliveryID = &delivery
	h.Confirmed, h.PromptID, h.PromptQueue, h.StopHook, h.Trouble = false, "", false, 0, ""
}

// confirmTaken notes that the runtime has taken the instruction, so that a Stop counts from now on. A verdict without a
// hook calls it, in the transaction of the verdict, because a Stop may come right after that transaction.
func (h *Handoff) confirmTaken() { h.Confirmed = true }

// hearIn notes the turn that takes the instruction unless another hook refuses it.
func (h *Handoff) hearIn(promptID string) { h.PromptID, h.PromptQueue = promptID, false }

// confirmTakenIn is confirmTaken for a hook that names the turn. queued says that a turn was running, and that the hook
// names that running turn.
func (h *Handoff) confirmTakenIn(promptID string, queued bool) {
	h.confirmTaken()
	h.PromptID, h.PromptQueue = promptID, queued
}

// endTurn notes that the turn that took the instruction has ended, unless another hook has it go on: see documentDone. The Stop that counts
// calls it, with the turn that it names. If no Stop comes, the step that finds the document of an idle agent calls it, with the agent's newest
// hook and no turn.
func (h *Handoff) endTurn(hook int64, promptID string) {
	h.StopHook = hook
	if promptID != "" {
		h.PromptID, h.PromptQueue = promptID, false
	}
}

// failTurn notes that the turn that took the instruction ended with an error. The agent's StopFailure calls it.
func (h *Handoff) failTurn(words string) { h.Trouble = words }

// ignoreHooksUpTo notes the agent's newest hook: a prompt after that hook is work that the document may not mention.
// A retry that reads the document once more calls it, and the step that forks the session.
func (h *Handoff) ignoreHooksUpTo(hook int64) { h.StopHook, h.Trouble = hook, "" }
