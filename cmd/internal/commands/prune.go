package commands

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon/words"
)

func (a *app) pruneCommand() *cobra.Command {
	var dry bool
	c := a.WithJSON(&cobra.Command{
		Use:   "prune",
		Short: "Delete now what the settings do not keep",
		Long: `Delete what events.max_age, events.max_rows and history.max_age do not keep. The daemon does so by
itself every ten minutes. Documents of handoffs are files and stay.`,
		Example: `  understudy prune --dry-run            # how much that would be
  understudy prune`,
		Args: cli.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return a.prune(c.Context(), dry) },
	})
	c.Flags().BoolVar(&dry, "dry-run", false, "delete nothing; say what would go")
	return c
}

func (a *app) prune(ctx context.Context, dry bool) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
	out, err := c.Prune(ctx, dry)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(out)
	}
	verb := "Deleted"
	if dry {
		verb = "Would delete"
	}
	a.UI(a.Stdout).Printf("%s %s, %s, %s, %s and %s.\n", verb, words.Count(out.Events, "event"), words.Count(out.Hooks, "hook"),
		words.Count(out.Agents, "agent"), words.Count(out.Handoffs, "handoff"), words.Count(out.Pipelines, "pipeline"))
	return nil
}
