package daemon

import (
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/words"
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

// Words says how full a window is; "", if u is nil. If the size of the window is not known, Words gives the tokens in use.
func (u *ContextUse) Words() string {
	switch {
	case u == nil:
		return ""
	case u.Percent == nil:
		return words.Tokens(u.Tokens) + " tokens"
	case u.Tier == TierWarn || u.Tier == TierHigh:
		return words.Percent(*u.Percent) + " " + string(u.Tier)
	}
	return words.Percent(*u.Percent)
}

// InFull says how full a window is, with the numbers of tokens; "", if u is nil.
func (u *ContextUse) InFull() string {
	switch {
	case u == nil:
		return ""
	case u.Percent == nil || u.Limit == nil:
		return u.Words() + " of a window whose size is not known"
	}
	return fmt.Sprintf("%s, %s of %s tokens", u.Words(), words.Tokens(u.Tokens), words.Tokens(*u.Limit))
}
