package daemon

import (
	"time"
)

// Where the numbers of a [ContextUse] come from.
const (
	FromStatusLine = "statusline"
	FromHook       = "hook"
	FromTranscript = "transcript"
)

// AgentContext is the part of an agent about how full its context window is, and what the daemon has done about it.
type AgentContext struct {
	Context *ContextUse `json:"context"`

	ContextStart *float64   `json:"-"` // the lowest use of the context window that the daemon measured, in percent
	AutoAskedAt  *time.Time `json:"-"` // when the daemon requested a handoff of the nearly full agent; it does so once
	CompactHook  int64      `json:"-"` // hook id of the compaction that was refused; 0: none
}

// NoteContext notes how full the agent's window is, and the least that it was.
func (a *AgentContext) NoteContext(use *ContextUse) {
	if use.Limit != nil && (a.ContextStart == nil || *use.Percent < *a.ContextStart) {
		a.ContextStart = use.Percent
	}
	a.Context = use
}

// BeginWindow notes that the window is new: the last measurement is about the old one.
func (a *AgentContext) BeginWindow() { a.Context, a.ContextStart = nil, nil }

// NoteAutoAsked notes that the daemon has requested a handoff because the window is nearly full, or could not. It does so once.
func (a *AgentContext) NoteAutoAsked(at time.Time) { a.AutoAskedAt = &at }
