package commands

import (
	"fmt"

	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
)

// warnTrouble tells whoever has waited for an agent that its turns fail.
func (a *app) warnTrouble(g *daemon.Agent) {
	if g.Trouble != nil {
		fmt.Fprintf(a.Stderr, "understudy: %s\n", term.Printable(a.WithData(fmt.Sprintf("agent %d is in trouble: %s", g.ID, show.TroubleInFull(g)))))
	}
}
