package commands

import (
	"fmt"

	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// warnTrouble tells whoever has waited for an agent that its turns fail.
func (a *app) warnTrouble(g *daemon.Agent) {
	if g.Trouble != nil {
		fmt.Fprintf(a.Stderr, "understudy: %s\n", words.Terminal(a.WithData(fmt.Sprintf("agent %d is in trouble: %s", g.ID, show.TroubleInFull(g)))))
	}
}
