package commands

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/inside"
	"github.com/understudyd/understudy/hooks"
)

// statusLineCommand adds the command to the help. Package early runs the command before the command line is set up.
func statusLineCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "statusline",
		Short: "What an agent's status line runs: tells the daemon how full the context is",
		Long: `The status line of agents that understudy starts. It reads the runtime's JSON from stdin and tells
the daemon how full the context window is. If your settings have a status line of your own, it runs
that with the same input, and you see what yours prints. While the daemon does not run, your status
line works as usual.`,
		Example: "  understudy statusline < status.json",
		RunE: func(c *cobra.Command, _ []string) error {
			if code := inside.StatusLine(c.Context(), hooks.Tell, os.Environ(), a.Stdin, a.Stdout, a.Stderr); code != 0 {
				return cli.ErrSilent
			}
			return nil
		},
	}
}
