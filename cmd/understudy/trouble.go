package main

import (
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon"
)

// stateCell is an agent's state in a list: an agent whose turns fail is not just idle.
func stateCell(g *daemon.Agent) string {
	if g.Trouble == nil {
		return string(g.State)
	}
	return fmt.Sprintf("%s, %s", g.State, g.Trouble.Code)
}

// troubleInFull says what trouble an agent is in, since when, and what to do; "" if it is in none.
func troubleInFull(g *daemon.Agent) string {
	if g.Trouble == nil {
		return ""
	}
	return fmt.Sprintf("%s, since %s; %s", strings.TrimSuffix(g.Trouble.Words(), "."), stamp(&g.Trouble.Since), g.TroubleHint())
}

// warnTrouble tells whoever has waited for an agent that its turns fail.
func (a *app) warnTrouble(g *daemon.Agent) {
	if g.Trouble != nil {
		fmt.Fprintf(a.stderr, "understudy: %s\n", printable(a.withData(fmt.Sprintf("agent %d is in trouble: %s", g.ID, troubleInFull(g)))))
	}
}
