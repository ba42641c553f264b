package daemon

import (
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// This file alone writes the facts about a turn: those of an agent, and those of a handoff about the turn in which its
// document is written. Most come by hooks, in whatever phase the handoff is. Each function says who calls it, and when.

// beginTurn notes a prompt that the runtime has taken. The agent's UserPromptSubmit calls it. A queued prompt came while a
// turn ran: it becomes part of that turn, or begins one of which no hook tells.
func (a *Agent) beginTurn(promptID string, queued bool) {
	a.TurnError = ""
	if !queued {
		a.TurnPromptID = promptID
	}
}

// takeWork notes that a prompt gave the agent work of its own. Its UserPromptSubmit calls it, after beginTurn, unless the
// prompt is one of a handoff's or a run's, or tells of the end of a background task.
func (a *Agent) takeWork(hook int64, at time.Time) {
	a.LastPrompt, a.LastPromptAt, a.HandingOver = hook, &at, false
}

// endTask notes the end of a background task. The UserPromptSubmit that tells of it calls it. The turn's Stop says how many
// are left; a turn that fails has none.
func (a *Agent) endTask() { a.BackgroundTasks = max(a.BackgroundTasks-1, 0) }

// takeInstruction notes that the turn that runs is that of a handoff's document. Who learns first that the instruction was
// taken calls it: a hook that confirms its delivery, the delivery's verdict without a hook, or the Stop that is answered
// with it.
func (a *Agent) takeInstruction() { a.HandingOver = true }

// loseInstruction takes back takeInstruction: the Stop that was answered with the instruction came again, out of the spool,
// because its sender never got the answer.
func (a *Agent) loseInstruction() { a.HandingOver = false }

// endTurn notes that a turn ended well. The agent's Stop calls it, also one that comes after the agent's end. own: the turn
// was one of the agent's own work, and not that of a handoff's document.
func (a *Agent) endTurn(hook int64, backgroundTasks int, own bool) {
	a.LastStop, a.BackgroundTasks, a.TurnError, a.HandingOver = hook, backgroundTasks, "", false
	if own {
		a.WorkStop = hook
	}
}

// failTurn notes that the runtime ended a turn with an error of its own. The agent's StopFailure calls it. The answer of an
// earlier turn would pass for that of this one.
func (a *Agent) failTurn(t Trouble) {
	a.Trouble, a.TurnError, a.LastMessage, a.HandingOver = &t, t.Words(), "", false
}

// endTrouble ends the trouble of an agent, if it is in any, and returns the event, which says by what. The Stop of a turn
// that ended well calls it, and the end of the agent.
func (d *Daemon) endTrouble(a *Agent, by string) *event.Event {
	if a.Trouble == nil {
		return nil
	}
	e := d.event(event.AgentTroubleOver, &a.ID, nil, map[string]any{"code": a.Trouble.Code, "since": a.Trouble.Since, "by": by}).For(a.PipelineID, a.StepID)
	a.Trouble = nil
	return e
}

// expectInstruction forgets what hooks told of an earlier instruction. The step that queues a new one calls it.
func (h *Handoff) expectInstruction(delivery int64) {
	h.DeliveryID = &delivery
	h.Confirmed, h.PromptID, h.PromptQueue, h.StopHook, h.Trouble = false, "", false, 0, ""
}

// confirmTaken notes that the runtime has taken the instruction: from now on a Stop counts. It goes into the transaction of the
// delivery's verdict, for that Stop may come right after it. A verdict without a hook calls it.
func (h *Handoff) confirmTaken() { h.Confirmed = true }

// confirmTakenIn is taken where a hook tells in which turn. queued: a turn was running, and the hook names that one.
func (h *Handoff) confirmTakenIn(promptID string, queued bool) {
	h.confirmTaken()
	h.PromptID, h.PromptQueue = promptID, queued
}

// acceptAnyStop has the next Stop count whichever turn it ends. The Stop of a runtime that reports no prompts calls it.
func (h *Handoff) acceptAnyStop() { h.PromptID = "" }

// endTurn notes that the turn that took the instruction has ended. The Stop that counts calls it; without one, the step
// that finds the document of an idle agent, with the agent's newest hook.
func (h *Handoff) endTurn(hook int64) { h.StopHook = hook }

// failTurn notes that the turn that took the instruction ended with an error. The agent's StopFailure calls it.
func (h *Handoff) failTurn(words string) { h.Trouble = words }

// ignoreHooksUpTo puts the agent's hooks up to its newest one into the past: a prompt that comes after that is work that the
// document may not mention. A retry that reads the document once more calls it, and the step that forks the session.
func (h *Handoff) ignoreHooksUpTo(hook int64) { h.StopHook, h.Trouble = hook, "" }
