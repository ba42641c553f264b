package show

import (
	"cmp"
	"fmt"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// EndWords says why an agent has ended.
func EndWords(reason *string) string { return event.EndWords(cmp.Or(term.Text(reason), "-")) }

// StateCell returns an agent's state for a list, followed by why the agent needs a person. For example, an agent whose
// turns fail is not only idle. An empty need means that it needs no person.
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

// TroubleInFull says what trouble an agent has, since when, and what to do. It returns "" if the agent has no trouble.
func TroubleInFull(g *daemon.Agent) string {
	if g.Trouble == nil {
		return ""
	}
	return fmt.Sprintf("%s, since %s; %s", words.TrimDot(g.Trouble.Words()), term.Stamp(&g.Trouble.Since), g.TroubleHint())
}
