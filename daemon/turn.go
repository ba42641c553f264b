package daemon

import (
	"cmp"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

// Only this file writes the fields about a turn: those of an agent, and those of a handoff about the turn in which its
// document is written. Most changes come from hooks, in any phase of the handoff. The comment of each function names its
// caller.

// AgentTurn is the part of an agent about its turns: what was asked and answered, and how the last ones have ended.
type AgentTurn struct {
	LastMessage    string     `json:"last_message"`    // the beginning of its last answer; "" while it is in trouble
	Asked          string     `json:"last_prompt"`     // the beginning of what a person or another agent has asked last, of it or before in its line
	Unread         bool       `json:"unread"`          // it has finished its turn since the operator looked last
	FinishedAt     *time.Time `json:"finished_at"`     // when it finished the last turn of its own work and went to rest
	NotifyFinished string     `json:"notify_finished"` // whether the operator is notified of that: "on", "off", or "" for what its persona says
	Trouble        *Trouble   `json:"trouble" db:"in_trouble"`

	BackgroundTasks int    `json:"-"` // how many tasks the last Stop reported, less the tasks that have ended since
	LastPrompt      int64  `json:"-"` // hook id of the newest prompt that gave it work: see takeWork
	LastStop        int64  `json:"-"` // hook id of the newest Stop
	TurnPromptID    string `json:"-"` // prompt_id of the running turn
	// WorkStop is the hook id of the newest Stop that ended a turn of the agent's own work. The turn in which the agent
	// writes a handoff document does not count. HandingOver is set during that turn.
	WorkStop    int64 `json:"-"`
	HandingOver bool  `json:"-"`
	// StopCameAt is when the Stop of its turn came, until it is known whether the turn is over; nil: no turn has just ended.
	StopCameAt *time.Time `json:"-"`
	// Background is what runs beside its turns, as its last Stop has told; nil: nothing.
	Background *Background `json:"-"`
	TurnError  string      `json:"-" db:"trouble"` // the error with which the newest turn ended; "": none
}

// BeginTurn notes a prompt that the runtime has taken. The agent's UserPromptSubmit calls it before it looks whose prompt that is. queued
// says that the prompt came while a turn ran: it becomes part of that turn, or begins a turn that no hook reports.
func (a *AgentTurn) BeginTurn(promptID string, queued bool) {
	a.TurnError = ""
	if !queued {
		a.TurnPromptID, a.StopCameAt, a.HandingOver = promptID, nil, false
	}
}

// EndUnknownTurn notes the end of a turn whose prompt no hook has told yet: at is since when the agent is at rest. The hook of
// the prompt may still come, out of the spool.
func (a *Agent) EndUnknownTurn(promptID string, at time.Time) {
	a.TurnPromptID = promptID
	a.RestSince(at)
}

// TakeWork notes a prompt that gave the agent work of its own. The agent's UserPromptSubmit calls it after BeginTurn,
// unless the prompt comes from a handoff or a pipeline, or reports the end of a background task.
// The operator has seen the turn before if they give the next one.
func (a *Agent) TakeWork(hook int64, at time.Time, prompt string) {
	a.LastPrompt, a.LastPromptAt, a.HandingOver, a.Unread = hook, &at, false, false
	if a.Hold.Is(HoldBrokeOff) {
		a.Release()
	}
	if asked := words.Clip(words.Line(prompt), maxAsked); asked != "" {
		a.Asked = asked
	}
}

// Answer notes the beginning of what the agent has said last; "": its Stop did not tell that.
func (a *AgentTurn) Answer(said string) {
	if said = words.Clip(words.Line(said), MaxLastMessage); said != "" {
		a.LastMessage = said
	}
}

// StopCame notes that the Stop of the turn has come, so that its end is looked for.
func (a *AgentTurn) StopCame(at time.Time) { a.StopCameAt = &at }

// ForgetStop notes that the Stop that came ended nothing: the turn goes on, or has ended by something else.
func (a *AgentTurn) ForgetStop() { a.StopCameAt = nil }

// LeaveTurn notes that the turn whose Stop has come is over, and returns when that Stop came.
func (a *AgentTurn) LeaveTurn() (stop time.Time) {
	stop = *a.StopCameAt
	a.StopCameAt, a.HandingOver = nil, false
	return stop
}

// Finish notes that the agent has finished a turn that the operator waits for.
func (a *AgentTurn) Finish(at time.Time) { a.Unread, a.FinishedAt = true, &at }

// See notes that the operator has seen what the agent has finished.
func (a *AgentTurn) See() { a.Unread = false }

// EndTask notes the end of a background task. The UserPromptSubmit that reports the end calls it. The Stop of the
// turn says how many tasks are left; the StopFailure of a failed turn does not.
func (a *AgentTurn) EndTask(notification string) {
	a.BackgroundTasks, a.Background = max(a.BackgroundTasks-1, 0), a.Background.withoutTask(notification)
}

// TakeInstruction notes that the running turn writes a handoff's document. It is called at the first evidence that the
// instruction was taken: the hook that confirms its delivery, the delivery's verdict without a hook, or the Stop that is
// answered with the instruction.
func (a *AgentTurn) TakeInstruction() { a.HandingOver = true }

// LoseInstruction undoes TakeInstruction. It is called if the Stop that was answered with the instruction comes again out
// of the spool, because its sender never got the answer.
func (a *AgentTurn) LoseInstruction() { a.HandingOver = false }

// EndTurn notes that a turn ended well, unless another hook has it go on. The agent's Stop calls it, also a Stop that comes after the
// agent's end. own says that the turn was for the agent's own work, and not for a handoff's document. No hook may have told the prompt of
// the turn: then the Stop is the first to name it.
func (a *AgentTurn) EndTurn(hook int64, stop *hooks.Payload, own bool) {
	a.LastStop, a.BackgroundTasks, a.Background, a.TurnError = hook, stop.BackgroundTasks, backgroundOf(stop), ""
	a.TurnPromptID = cmp.Or(stop.PromptID, a.TurnPromptID)
	if own {
		a.WorkStop = hook
	} else {
		a.TakeInstruction() // the turn may go on, and its next Stop ends no work either
	}
}

// FailTurn notes that the runtime ended a turn with an error. The agent's StopFailure calls it. It clears
// LastMessage, because the answer of an earlier turn would pass for the answer of this one. If the turn had a Stop that another
// hook has blocked, that Stop has ended no work. The trouble lasts since the first turn that failed.
func (a *AgentTurn) FailTurn(t Trouble) {
	if a.Trouble != nil {
		t.Since = a.Trouble.Since
	}
	if a.StopCameAt != nil {
		a.WorkStop, a.StopCameAt = 0, nil
	}
	a.Trouble, a.TurnError, a.LastMessage, a.HandingOver = &t, t.Words(), "", false
}

// RefuseTurn notes that no turn runs, because another hook has refused its prompt. why says so.
func (a *AgentTurn) RefuseTurn(why string) { a.TurnError, a.HandingOver = why, false }

// RetryTurn notes that the API refuses the requests of the running turn. The agent's RetryStarted calls it. Trouble with the API that has
// not ended goes on.
func (a *AgentTurn) RetryTurn(t Trouble) {
	if was := a.Trouble; was != nil && (was.Retrying || runtimes.APIFails(was.Code)) {
		t.Since = was.Since
	}
	a.Trouble = &t
}

// PassTrouble notes that the agent's trouble is over.
func (a *AgentTurn) PassTrouble() { a.Trouble = nil }

// endRetrying notes that no turn runs any more whose request the runtime sends again. [Agent.Be] calls it. The trouble itself
// lasts until the API answers.
func (a *Agent) endRetrying() {
	if a.Trouble != nil && a.Trouble.Retrying && a.State != Working {
		t := *a.Trouble
		t.Retrying, a.Trouble = false, &t
	}
}

// ExpectInstruction names the delivery of a new instruction, and clears what hooks noted about an earlier one. The
// step that queues the instruction calls it.
func (h *Handoff) ExpectInstruction(delivery int64) {
	h.DeliveryID = &delivery
	h.Confirmed, h.PromptID, h.PromptQueue, h.StopHook, h.Trouble = false, "", false, 0, ""
}

// ConfirmTaken notes that the runtime has taken the instruction, so that a Stop counts from now on. A verdict without a
// hook calls it, in the transaction of the verdict, because a Stop may come right after that transaction.
func (h *Handoff) ConfirmTaken() { h.Confirmed = true }

// HearIn notes the turn that takes the instruction unless another hook refuses it.
func (h *Handoff) HearIn(promptID string) { h.PromptID, h.PromptQueue = promptID, false }

// ConfirmTakenIn is ConfirmTaken for a hook that names the turn. queued says that a turn was running, and that the hook
// names that running turn.
func (h *Handoff) ConfirmTakenIn(promptID string, queued bool) {
	h.ConfirmTaken()
	h.PromptID, h.PromptQueue = promptID, queued
}

// EndTurn notes that the turn that took the instruction has ended, unless another hook has it go on: see DocumentDone. The Stop that counts
// calls it, with the turn that it names. If no Stop comes, the step that finds the document of an idle agent calls it, with the agent's newest
// hook and no turn.
func (h *Handoff) EndTurn(hook int64, promptID string) {
	h.StopHook = hook
	if promptID != "" {
		h.PromptID, h.PromptQueue = promptID, false
	}
}

// FailTurn notes that the turn that took the instruction ended with an error. The agent's StopFailure calls it.
func (h *Handoff) FailTurn(words string) { h.Trouble = words }

// IgnoreHooksUpTo notes the agent's newest hook: a prompt after that hook is work that the document may not mention.
// A retry that reads the document once more calls it, and the step that forks the session.
func (h *Handoff) IgnoreHooksUpTo(hook int64) { h.StopHook, h.Trouble = hook, "" }

// NotesReading reports whether the daemon looks in an agent's transcript for its reading of the handoff.
func (a *Agent) NotesReading() bool { return a.Reading }
