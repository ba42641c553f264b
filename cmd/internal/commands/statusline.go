package commands

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/inside"
	"github.com/understudyd/understudy/hooks"
)

// statusLineCommand is in the help alone: main runs it before all this is set up.
func (a *app) statusLineCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "statusline",
		Short: "What an agent's status line runs: tells the daemon how full the context is",
		Long: `What agents that understudy starts have as their status line. It reads the runtime's JSON from
stdin, tells the daemon how full the context window is, and runs your own status line, if your
settings have one, with the same input; what that prints is what you see. If the daemon is away,
nothing is told, and nothing else changes.`,
		Example: "  understudy statusline < status.json",
		Args:    cli.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if code := inside.StatusLine(c.Context(), hooks.Tell, os.Environ(), a.Stdin, a.Stdout, a.Stderr); code != 0 {
				return cli.ErrSilent
			}
			return nil
		},
	}
}
