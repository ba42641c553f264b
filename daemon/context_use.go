package daemon

import (
	"fmt"

	"github.com/understudyd/understudy/daemon/words"
)

// Where the numbers of a [ContextUse] come from.
const (
	FromStatusLine = "statusline"
	FromHook       = "hook"
	FromTranscript = "transcript"
)

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
