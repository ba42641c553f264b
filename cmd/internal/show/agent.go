package show

import (
	"fmt"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
)

// ContextWords says in a cell how full a context window is.
func ContextWords(u *daemon.ContextUse) string {
	switch {
	case u == nil:
		return "-"
	case u.Percent == nil:
		return thousands(u.Tokens) + " tokens"
	case u.Tier == daemon.TierWarn || u.Tier == daemon.TierHigh:
		return fmt.Sprintf("%.0f%% %s", *u.Percent, u.Tier)
	}
	return fmt.Sprintf("%.0f%%", *u.Percent)
}

// ContextInFull says it with the numbers behind it; nothing if they are not known.
func ContextInFull(u *daemon.ContextUse) string {
	switch {
	case u == nil:
		return ""
	case u.Percent == nil || u.Limit == nil:
		return ContextWords(u) + " of a window whose size is not known"
	}
	return fmt.Sprintf("%s, %s of %s tokens", ContextWords(u), thousands(u.Tokens), thousands(*u.Limit))
}

// thousands is a number of tokens, roughly.
func thousands(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1000)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
}

// EndWords says for people how an agent has ended.
func EndWords(reason *string) string { return daemon.EndWords(term.OrDash(reason)) }

// StateCell is an agent's state in a list, with what the agent needs a person for: an agent whose turns fail is not just
// idle. need is empty for nothing.
func StateCell(g *daemon.Agent, need daemon.AttentionKind) string {
	more := string(need)
	if g.Trouble != nil {
		more = g.Trouble.Code
	}
	if more == "" || more == string(g.State) {
		return string(g.State)
	}
	return fmt.Sprintf("%s, %s", g.State, more)
}

// TroubleInFull says what trouble an agent is in, since when, and what to do; "" if it is in none.
func TroubleInFull(g *daemon.Agent) string {
	if g.Trouble == nil {
		return ""
	}
	return fmt.Sprintf("%s, since %s; %s", strings.TrimSuffix(g.Trouble.Words(), "."), term.Stamp(&g.Trouble.Since), g.TroubleHint())
}
