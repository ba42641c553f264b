package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

func (a *app) houseCommand() *cobra.Command {
	var day string
	c := a.WithJSON(&cobra.Command{
		Use:   "house",
		Short: "Show how many agents worked, waited and were limited on a day",
		Long: `Show how many agents worked, waited for a person and were limited on a day, and for how long. The
numbers come from the event log, so they reach back as far as the log does (events.max_age).`,
		Example: "  understudy house\n  understudy house --day 2026-03-01 --json",
		Args:    cli.ExactArgs(),
		RunE:    func(c *cobra.Command, _ []string) error { return a.showHouse(c.Context(), day) },
	})
	c.Flags().StringVar(&day, "day", "", "the `day`, as 2006-01-02; without it today")
	return c
}

func (a *app) showHouse(ctx context.Context, day string) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
	h, err := c.House(ctx, day)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(h)
	}
	u := a.UI(a.Stdout)
	pairs := []string{"day", h.Day, "agents", fmt.Sprint(h.Lived), "turns", fmt.Sprint(h.Turns)}
	for _, s := range h.States {
		if s.Agents > 0 {
			pairs = append(pairs, string(s.State), fmt.Sprintf("%s, %s, at most %d at once", seconds(s.Seconds), words.Count(s.Agents, "agent"), s.Most))
		}
		if s.Agents > 0 && (s.State == daemon.Working || s.State == daemon.Waiting) {
			pairs = append(pairs, "", h.Spark(s.State))
		}
	}
	if !h.Whole {
		pairs = append(pairs, "note", "the event log no longer has all states of this day")
	}
	u.Fields(pairs...)
	if len(h.Agents) == 0 {
		return nil
	}
	var rows [][]string
	for i := range h.Agents {
		g := &h.Agents[i]
		rows = append(rows, []string{fmt.Sprint(g.ID), g.Name, fmt.Sprint(g.Turns), seconds(g.Working), seconds(g.Waiting), seconds(g.Limited)})
	}
	u.Printf("\n")
	return u.Table([]string{"AGENT", "NAME", "TURNS", "WORKED", "WAITED", "LIMITED"}, rows)
}

// seconds writes how long something took, for a cell.
func seconds(s float64) string {
	if s == 0 {
		return "-"
	}
	return words.Total(time.Duration(s * float64(time.Second)))
}
