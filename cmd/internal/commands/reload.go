package commands

import (
	"fmt"
	"strings"

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
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := a.Client().ReloadSettings(c.Context())
			said := []string{"no setting has changed"}
			for i, ch := range done.Changes {
				later := ""
				if ch.Kept {
					later = ", once the daemon is started again"
				}
				said = append(said[:i], fmt.Sprintf("%s: %s -> %s%s", ch.Key, ch.Was, ch.Is, later))
			}
			return answer(a, done, err, "%s", strings.Join(said, "\n"))
		},
	})
}
