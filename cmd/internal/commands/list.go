package commands

import (
	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
)

// printList prints the list that get returns, as JSON or as a table. If a table would be empty, it prints the sentence
// none instead.
func printList[T any](a *cli.App, get func(*api.Client) ([]T, error), none string, columns []string, row func(T) []string) error {
	c := a.Client()
	list, err := get(c)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(list)
	}
	u := a.UI(a.Stdout)
	if len(list) == 0 {
		u.Printf("%s\n", a.WithData(none))
		return nil
	}
	rows := make([][]string, len(list))
	for i, item := range list {
		rows[i] = row(item)
	}
	return u.Table(columns, rows)
}

// pageFlags gives a command that lists rows, the newest first, the flags of a page. rows names them, and ids completes the id
// before which the page begins.
func pageFlags(c *cobra.Command, o *api.ListOptions, rows string, ids cobra.CompletionFunc) {
	c.Flags().IntVar(&o.Limit, "limit", 100, "at most this `number`")
	c.Flags().Int64Var(&o.Before, "before", 0, "only "+rows+" before this `id`")
	cli.CompleteFlag(c, "before", ids)
}
