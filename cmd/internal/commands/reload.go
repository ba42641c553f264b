package commands

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
)

func reloadCommand(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:   "reload",
		Short: "Have the daemon read its settings again",
		Long: `Have the daemon read config.yaml and its variables again, and say which settings have changed. Work
that is under way goes on by the new ones. The address and the database are taken over when the
daemon is started again. If the file is wrong, the daemon goes on with the settings that it had.

Personas, and templates of pipelines, are read again by themselves when their files change.`,
		Example: `  understudy reload
  understudy reload --json`,
		RunE: func(c *cobra.Command, _ []string) error { return runReload(c.Context(), a) },
	})
}

func runReload(ctx context.Context, a *cli.App) error {
	client := a.Client()
	done, err := client.ReloadSettings(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(done)
	}
	if len(done.Changes) == 0 {
		fmt.Fprintln(a.Stdout, "no setting has changed")
		return nil
	}
	for _, ch := range done.Changes {
		later := ""
		if ch.Kept {
			later = ", once the daemon is started again"
		}
		fmt.Fprintf(a.Stdout, "%s: %s -> %s%s\n", ch.Key, ch.Was, ch.Is, later)
	}
	return nil
}
