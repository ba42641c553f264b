package commands

import (
	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
)

func pipelineTemplates(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:   "templates",
		Short: "List the templates that pipelines are made from",
		Long: `List the templates that pipelines are made from: the files pipelines/*.yaml in the data directory.
The daemon reads a file again when it changes.`,
		Example: "  understudy pipeline templates",
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := a.Client().Templates(c.Context())
			return told(a, list, err, func(u *term.UI) error {
				if len(list) == 0 {
					u.Printf("no templates: put one into the folder pipelines of the data directory\n")
				}
				for _, t := range list {
					show.DescribeTemplate(u, &t)
				}
				return nil
			})
		},
	})
}
