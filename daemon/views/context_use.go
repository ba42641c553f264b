package views

import (
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// ContextWords says how full a window is; "", if u is nil. If the size of the window is not known, ContextWords gives the tokens in use.
func ContextWords(u *daemon.ContextUse) string {
	switch {
	case u == nil:
		return ""
	case u.Percent == nil:
		return words.Tokens(u.Tokens) + " tokens"
	case u.Tier == daemon.TierWarn || u.Tier == daemon.TierHigh:
		return words.Percent(*u.Percent) + " " + string(u.Tier)
	}
	return words.Percent(*u.Percent)
}

// ContextInFull says how full a window is, with the numbers of tokens; "", if u is nil.
func ContextInFull(u *daemon.ContextUse) string {
	switch {
	case u == nil:
		return ""
	case u.Percent == nil || u.Limit == nil:
		return ContextWords(u) + " of a window whose size is not known"
	}
	return fmt.Sprintf("%s, %s of %s tokens", ContextWords(u), words.Tokens(u.Tokens), words.Tokens(*u.Limit))
}
