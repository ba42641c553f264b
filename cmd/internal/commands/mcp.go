package commands

import (
	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/mcpserver"
)

func mcpCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "What an agent runs to reach other agents: an MCP server on stdio",
		Long: `A server of the Model Context Protocol on stdin and stdout, for agents that understudy started. With
it an agent can see who it is, list the personas and the agents that play them, send a message to
another agent, ask for its own handoff and see how the handoff stands. An agent can approve nothing
with it, stop no agent, and read no other agent's screen or documents. The server ends when stdin is
closed.`,
		Example: `  claude mcp add --scope user understudy -- understudy mcp    # for all your agents
  understudy mcp                                              # what the agent then runs`,
		RunE: func(c *cobra.Command, _ []string) error {
			return mcpserver.Serve(c.Context(), a.Getenv, build.Version(), a.Stdin, a.Stdout)
		},
	}
}
