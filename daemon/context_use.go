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

// NoteContext notes how full the agent's window is, and the least that it was.
func (a *Agent) NoteContext(use *ContextUse) {
	if use.Limit != nil && (a.ContextStart == nil || *use.Percent < *a.ContextStart) {
		a.ContextStart = use.Percent
	}
	a.Context = use
}

// BeginWindow notes that the window is new: the last measurement is about the old one.
func (a *Agent) BeginWindow() { a.Context, a.ContextStart = nil, nil }

// NoteAutoAsked notes that the daemon has requested a handoff because the window is nearly full, or could not. It does so once.
func (a *Agent) NoteAutoAsked(at time.Time) { a.AutoAskedAt = &at }
