package show

import (
	"cmp"
	"fmt"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// EndWords says how an agent has ended.
func EndWords(reason *string) string { return event.EndWords(cmp.Or(term.Text(reason), "-")) }

// StateCell is an agent's state in a list, with what the agent needs a person for: an agent whose turns fail is not just
// idle. An empty need is none.
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
	return fmt.Sprintf("%s, since %s; %s", words.TrimDot(g.Trouble.Words()), term.Stamp(&g.Trouble.Since), g.TroubleHint())
}
