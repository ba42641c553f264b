package commands

import (
	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon/words"
)

func pruneCommand(a *cli.App) *cobra.Command {
	var dry bool
	c := a.WithJSON(&cobra.Command{
		Use:   "prune",
		Short: "Delete old events and records now, as the settings say",
		Long: `Delete what is older than events.max_age and history.max_age, and events beyond the newest
million. The daemon does so by itself every ten minutes. Documents of handoffs are files and stay.`,
		Example: `  understudy prune --dry-run            # how much would be deleted
  understudy prune`,
		RunE: func(c *cobra.Command, _ []string) error {
			verb := "Deleted"
			if dry {
				verb = "Would delete"
			}
			out, err := a.Client().Prune(c.Context(), dry)
			return answer(a, out, err, "%s %s, %s, %s, %s and %s.", verb, words.Count(out.Events, "event"), words.Count(out.Hooks, "hook"),
				words.Count(out.Agents, "agent"), words.Count(out.Handoffs, "handoff"), words.Count(out.Pipelines, "pipeline"))
		},
	})
	c.Flags().BoolVar(&dry, "dry-run", false, "delete nothing; say how much would be deleted")
	return c
}
