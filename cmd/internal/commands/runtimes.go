package commands

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/words"
)

func runtimesCommand(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:   "runtimes [NAME]",
		Short: "List the CLIs whose agents can be started, and what each can do",
		Long: `List the CLIs whose agents understudy can start, with their versions. With the name of
one it prints what that one can do and what it cannot do. docs/runtimes.md has all of
them side by side.`,
		Example: `  understudy runtimes
  understudy runtimes codex`,
		ValidArgsFunction: completeRuntimes(a),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return describeRuntime(c.Context(), a, args[0])
			}
			list, err := a.Client().Runtimes(c.Context())
			return printList(a, list, err, "no runtimes", []string{"NAME", "CLI", "VERSION", "TESTED", "STATE"}, runtimeRow)
		},
	})
}

func runtimeRow(r *engine.RuntimeInfo) []string {
	tested := ""
	if len(r.Facts) > 0 {
		tested = r.Facts[0].How
	}
	return []string{r.Name, r.Title, words.Terminal(r.Version), tested, cmp.Or(words.Terminal(r.Problem), "ready")}
}

// describeRuntime prints what one runtime can do.
func describeRuntime(ctx context.Context, a *cli.App, name string) error {
	list, err := a.Client().Runtimes(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(r engine.RuntimeInfo) bool { return r.Name == name })
	if at < 0 {
		return cli.Usagef("runtime %q is not known: see `understudy runtimes`", name)
	}
	return told(a, list[at], nil, func(u *term.UI) error { return printRuntime(u, &list[at]) })
}

func printRuntime(u *term.UI, r *engine.RuntimeInfo) error {
	rows := [][]string{{"state", cmp.Or(words.Terminal(r.Problem), "ready")}, {"version", cmp.Or(words.Terminal(r.Version), "not known")}}
	for _, f := range r.Facts {
		rows = append(rows, []string{f.Topic, f.How})
	}
	if err := u.Table([]string{"", r.Title}, rows); err != nil {
		return err
	}
	for _, line := range r.Cannot {
		u.Printf("- %s\n", line)
	}
	return nil
}
