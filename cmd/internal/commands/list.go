package commands

import (
	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/term"
)

// printList prints a list that a command asked for, as JSON or as a table. If a table would be empty, it prints the sentence none
// instead.
func printList[T any](a *cli.App, list []T, err error, none string, columns []string, row func(*T) []string) error {
	return told(a, list, err, func(u *term.UI) error {
		if len(list) == 0 {
			return say(a, "%s", none)
		}
		rows := make([][]string, len(list))
		for i := range list {
			rows[i] = row(&list[i])
		}
		return u.Table(columns, rows)
	})
}

// pageFlags gives a command that lists rows, the newest first, the flags of a page. rows names them, and ids completes the id
// before which the page begins.
func pageFlags(c *cobra.Command, o *api.ListOptions, rows string, ids cobra.CompletionFunc) {
	c.Flags().IntVar(&o.Limit, "limit", 100, "at most this `number`")
	c.Flags().Int64Var(&o.Before, "before", 0, "only "+rows+" before this `id`")
	cli.CompleteFlag(c, "before", ids)
}
