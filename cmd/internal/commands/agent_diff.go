package commands

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon/agents"
)

func agentDiff(a *cli.App) *cobra.Command {
	return diffCommand(a, &cobra.Command{
		Use:   "diff AGENT [FILE]...",
		Short: "Show what has changed in an agent's directory since the agent began",
		Long: `Show what has changed in an agent's directory since the agent began: commits,
files that are not committed, and new files that git does not ignore. A FILE is
named by its path from the top of the work tree. Nothing of the repository's
configuration is run. The changes are the directory's: if several agents work
there, the command says so. The output shows what the files hold, secrets
included.`,
		Example: `  understudy agent diff 7
  understudy agent diff developer-con-1 --stat
  understudy agent diff 7 cmd/main.go docs`,
	}, func(ctx context.Context, name string, in agents.DiffRequest) (agents.AgentDiff, error) {
		client, agent, err := findAgent(ctx, a, name)
		if err != nil {
			return agents.AgentDiff{}, err
		}
		return client.Diff(ctx, agent.ID, in)
	})
}

// diffCommand makes a command print what has changed in the directory that its first argument names, in all files or in those that
// its other arguments name. read asks the daemon for that.
func diffCommand(a *cli.App, c *cobra.Command, read func(ctx context.Context, name string, in agents.DiffRequest) (agents.AgentDiff, error)) *cobra.Command {
	var in agents.DiffRequest
	c.RunE = func(c *cobra.Command, args []string) error {
		in.Files = args[1:]
		diff, err := read(c.Context(), args[0], in)
		return told(a, diff, err, func(u *term.UI) error {
			show.Diff(u, &diff)
			return nil
		})
	}
	c.Flags().BoolVar(&in.Stat, "stat", false, "list the files with their counts only")
	return a.WithJSON(c)
}
