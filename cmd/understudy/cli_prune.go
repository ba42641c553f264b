package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) pruneCommand() *cobra.Command {
	var dry bool
	c := a.withJSON(&cobra.Command{
		Use:   "prune",
		Short: "Delete now what the settings do not keep",
		Long: `Delete what events.max_age, events.max_rows and history.max_age do not keep. The daemon does so by
itself every ten minutes. Documents of handoffs are files and stay.`,
		Example: `  understudy prune --dry-run            # how much that would be
  understudy prune`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return a.prune(c.Context(), dry) },
	})
	c.Flags().BoolVar(&dry, "dry-run", false, "delete nothing; say what would go")
	return c
}

func (a *app) prune(ctx context.Context, dry bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	out, err := c.Prune(ctx, dry)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(out)
	}
	verb := "Deleted"
	if dry {
		verb = "Would delete"
	}
	a.ui(a.stdout).printf("%s %s, %s, %s, %s and %s.\n", verb, counted(int(out.Events), "event"), counted(int(out.Hooks), "hook"),
		counted(int(out.Agents), "agent"), counted(int(out.Handoffs), "handoff"), counted(int(out.Pipelines), "pipeline"))
	return nil
}
