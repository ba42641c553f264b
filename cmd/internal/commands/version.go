package commands

import (
	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/term"
)

func versionCommand(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the commit that it was built from",
		Example: "  understudy version",
		RunE: func(*cobra.Command, []string) error {
			b := build.Read()
			return answer(a, b, nil, "%s", buildLine(b))
		},
	})
}

// buildLine says in one line which source and which version of Go a program was built from.
func buildLine(b build.Info) string {
	line := "understudy " + b.Version
	if b.Revision != "" {
		line += ", commit " + b.Revision
	}
	if b.Time != nil {
		line += " of " + term.Stamp(b.Time)
	}
	if b.Modified {
		line += ", with changes that are not committed"
	}
	return line + ", " + b.Go
}
