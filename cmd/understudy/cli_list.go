package main

import (
	"github.com/understudyd/understudy/api"
)

// printList prints what get returns: as JSON, as a table, or, when there is nothing, as a sentence.
func printList[T any](a *app, get func(*api.Client) ([]T, error), none string, columns []string, row func(T) []string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	list, err := get(c)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(list)
	}
	u := a.ui(a.stdout)
	if len(list) == 0 {
		u.printf("%s\n", a.withData(none))
		return nil
	}
	rows := make([][]string, len(list))
	for i, item := range list {
		rows[i] = row(item)
	}
	return u.table(columns, rows)
}
