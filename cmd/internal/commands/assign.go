package commands

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
)

func agentAssign(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:   "assign AGENT PERSONA",
		Short: "Give a persona to an agent that you started yourself",
		Long: `Give a persona to an agent that you started yourself, in your own tmux, and that registered
through the installed hooks. The daemon types once that the agent is to read the persona's skill.
From then on the agent can be handed over.`,
		Example: "  understudy agent assign 7 developer-con-1",
		RunE: onAgent(a, func(ctx context.Context, c *api.Client, g daemon.Agent, args []string) error {
			g, err := c.AssignPersona(ctx, g.ID, args[0])
			return answer(a, g, err, "agent %d plays %s from now on", g.ID, args[0])
		}),
	})
}
