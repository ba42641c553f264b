package commands

import "github.com/understudyd/understudy/api"

// printList prints the list that get returns, as JSON or as a table. If a table would be empty, it prints the sentence
// none instead.
func printList[T any](a *app, get func(*api.Client) ([]T, error), none string, columns []string, row func(T) []string) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
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
