package commands

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

func usageCommand(a *cli.App) *cobra.Command {
	var by, since string
	var q daemon.UsageQuery
	c := a.WithJSON(&cobra.Command{
		Use:   "usage",
		Short: "Show how many tokens agents have used, and what they cost",
		Long: `Show how many tokens agents have used, and what they cost as far as their runtimes report it. A cost
that no runtime reports is not guessed: it is "not reported".`,
		Example: `  understudy usage --since 24h
  understudy usage --by day
  understudy usage --by run --since 2026-03-01 --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if !slices.Contains(views.UsageBys(), views.UsageBy(by)) {
				return cli.Usagef("--by must be one of %s", usageBys())
			}
			var err error
			if q.Since, err = pointInTime("since", since, time.Now()); err != nil {
				return err
			}
			return showUsage(c.Context(), a, views.UsageBy(by), q)
		},
	})
	c.Flags().StringVar(&by, "by", "persona", "one row for each `what`: "+usageBys())
	c.Flags().StringVar(&since, "since", "", "only what was used after this `time`: 2h ago, or 2006-01-02, or 2006-01-02T15:04:05Z")
	c.Flags().StringVar(&q.Persona, "persona", "", "only agents of this `persona`")
	cli.CompleteFlag(c, "persona", completePersonas(a))
	cli.CompleteFlag(c, "by", cobra.FixedCompletions(strings.Split(usageBys(), ", "), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func usageBys() string {
	var names []string
	for _, by := range views.UsageBys() {
		names = append(names, string(by))
	}
	return strings.Join(names, ", ")
}

func showUsage(ctx context.Context, a *cli.App, by views.UsageBy, q daemon.UsageQuery) error {
	out, err := a.Client().Usage(ctx, by, q)
	if err != nil || a.JSON {
		return told(a, out, err, nil)
	}
	rows := out.Rows
	if len(rows) > 1 {
		out.Total.Of = "total"
		rows = append(rows, out.Total)
	}
	columns := []string{strings.ToUpper(string(by)), "TOKENS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST"}
	return printList(a, rows, nil, "no usage was counted", columns, func(r *views.UsageRow) []string {
		t := r.Tokens
		return []string{cmp.Or(r.Of, "-"), words.Tokens(r.Total), words.Tokens(t.Input), words.Tokens(t.Output), words.Tokens(t.CacheRead),
			words.Tokens(t.CacheWrite), r.CostWords()}
	})
}

// usedWords says what an agent has used; "": nothing was counted, or that cannot be told now.
func usedWords(ctx context.Context, c *api.Client, agentID int64) string {
	out, err := c.Usage(ctx, views.UsageByAgent, daemon.UsageQuery{AgentIDs: []int64{agentID}})
	if err != nil {
		return ""
	}
	return out.Total.Words()
}

func personaGoOn(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:   "go-on PERSONA",
		Short: "Let a persona's agents go on today although its budget is used up",
		Long: `Let the agents of a persona go on until midnight although its budget is used up. What is queued for
them is delivered. To raise the budget for good, change "budget" in the persona's skill.md.`,
		Example: "  understudy persona go-on reviewer-ann-1",
		RunE: func(c *cobra.Command, args []string) error {
			out, err := a.Client().GoOn(c.Context(), args[0])
			return answer(a, out, err, "the agents of persona %s go on until midnight; today they have used %s", out.Persona, out.UsedWords())
		},
	})
}
