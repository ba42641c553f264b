package commands

import (
	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
)

func agentAssign(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:   "assign AGENT PERSONA",
		Short: "Give a persona to an agent that you started yourself",
		Long: `Give a persona to an agent that you started yourself, in your own tmux, and that registered
through the installed hooks. The daemon types once that the agent is to read the persona's skill.
From then on the agent can be handed over.`,
		Example: "  understudy agent assign 7 developer-con-1",
		RunE: func(c *cobra.Command, args []string) error {
			client, agent, err := findAgent(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			if agent, err = client.AssignPersona(c.Context(), agent.ID, args[1]); err != nil {
				return err
			}
			return answer(a, agent, "agent %d plays %s from now on", agent.ID, args[1])
		},
	})
}
