package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/calendar"
	"github.com/understudyd/understudy/daemon/views"
)

// listing is what `understudy agent list` was asked for.
type listing struct {
	api.ListOptions
	all, wide, watch bool
	sort             string
}

func agentList(a *cli.App) *cobra.Command {
	var l listing
	c := a.WithJSON(&cobra.Command{
		Use:   "list",
		Short: "List the agents that have not ended, the newest first",
		Long: `List the agents that have not ended, the newest first. An agent that has finished its turn since
you looked at it last is in the state "finished". CTX is how full its context is. The last column is
what an agent waits for; else what it was asked, while it works; else what it said. On a terminal,
what does not fit is left out; --wide prints all.`,
		Example: `  understudy agent list --sort state
  understudy agent list --watch
  understudy agent list --all --persona developer-con-1 --wide
  understudy agent list --state waiting --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case l.all && l.State != "":
				return cli.Usagef("--all and --state do not go together")
			case l.sort != "" && !slices.Contains(show.SortKeys(), l.sort):
				return cli.Usagef("--sort takes one of %s", strings.Join(show.SortKeys(), ", "))
			case l.watch && a.JSON:
				return cli.Usagef("--watch and --json do not go together: `understudy events --follow --json` prints what changes")
			case l.watch && (!term.IsTerminal(a.Stdout) || a.Getenv("TERM") == "dumb"):
				return cli.Usagef("--watch needs a terminal")
			}
			if l.State == "" && !l.all {
				l.State = "active"
			}
			if l.watch {
				return watchAgents(c.Context(), a, l)
			}
			return listAgents(c.Context(), a, l)
		},
	})
	c.Flags().BoolVarP(&l.all, "all", "a", false, "list agents that have ended too")
	c.Flags().StringVar(&l.State, "state", "", "only those in this `state`: starting, idle, working, waiting, limited, ended, or active for all but the last")
	c.Flags().StringVar(&l.Persona, "persona", "", "only those that play this `persona`")
	c.Flags().IntVar(&l.Limit, "limit", 100, "at most this `number`")
	c.Flags().StringVar(&l.sort, "sort", "", "sort by this `key`: "+strings.Join(show.SortKeys(), ", "))
	c.Flags().BoolVarP(&l.wide, "wide", "w", false, "print all columns in full, however wide the terminal is")
	c.Flags().BoolVar(&l.watch, "watch", false, "keep the list up to date until Ctrl-C")
	cli.CompleteFlag(c, "state", cli.OneOf(agentStates...))
	cli.CompleteFlag(c, "persona", completePersonas(a))
	cli.CompleteFlag(c, "sort", cli.OneOf(show.SortKeys()...))
	return c
}

// listed reads the agents of a list, and what a person must see to of them.
func listed(ctx context.Context, a *cli.App, c *api.Client, l listing) ([]daemon.Agent, map[int64]views.Attention, error) {
	list, err := c.Agents(ctx, l.ListOptions)
	if err != nil || a.JSON && l.sort == "" {
		return list, nil, err
	}
	needs := map[int64]views.Attention{}
	all, err := c.Attention(ctx)
	for _, n := range all {
		if n.Agent != nil {
			needs[n.Agent.ID] = n
		}
		for _, id := range n.Together {
			needs[id] = n
		}
	}
	show.SortAgents(list, l.sort, needs)
	return list, needs, err
}

func listAgents(ctx context.Context, a *cli.App, l listing) error {
	c := a.Client()
	list, needs, err := listed(ctx, a, c, l)
	if err != nil || a.JSON {
		return told(a, list, err, nil)
	}
	_, err = fmt.Fprintln(a.Stdout, strings.Join(agentLines(a, l, list, needs, l.used(ctx, c)), "\n"))
	return err
}

// agentLines draws a list of agents, or the sentence that there are none.
func agentLines(a *cli.App, l listing, list []daemon.Agent, needs map[int64]views.Attention, used map[int64]views.UsageRow) []string {
	if len(list) == 0 {
		none := "no agents: start one with `understudy agent start PERSONA`"
		if len(needs) > 0 {
			none = "no agent is active. Some died, which nobody asked for: `understudy status` lists them, and `understudy agent resume --all` opens their sessions again"
		}
		if l.Persona != "" || l.State != "" && l.State != "active" {
			none = "no agent is like that: `understudy agent list --all` shows those that there are"
		}
		return []string{a.WithData(none)}
	}
	u := a.UI(a.Stdout)
	width := 0
	if u.Terminal && !l.wide {
		width = u.Width()
	}
	return show.AgentLines(show.AgentTable{Agents: list, Needs: needs, Now: time.Now(), Home: u.HomeShown(), Wide: l.wide, Usage: used}, width)
}

// used returns what agents have used today, for a wide list. One question is about all of them. nil: nobody wants to know, or
// it cannot be told now.
func (l listing) used(ctx context.Context, c *api.Client) map[int64]views.UsageRow {
	if !l.wide {
		return nil
	}
	report, err := c.Usage(ctx, views.UsageByAgent, daemon.UsageQuery{Since: calendar.DayBegins(time.Now(), 0)})
	if err != nil {
		return nil
	}
	return report.ByAgent()
}

// watchEvery is how often a watched list is read again.
const watchEvery = time.Second

// watchAgents draws the list again and again until ctx ends. While the daemon is away it keeps the last list, and says so.
func watchAgents(ctx context.Context, a *cli.App, l listing) error {
	c := a.Client()
	var lines []string
	for first := true; ; first = false {
		list, needs, err := listed(ctx, a, c, l)
		said := time.Now().Format("15:04:05") + ", Ctrl-C ends"
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			said = "the daemon does not answer; trying again: " + strings.ReplaceAll(err.Error(), "\n", " ")
		default:
			lines = agentLines(a, l, list, needs, l.used(ctx, c))
		}
		if err := redraw(a, append(slices.Clone(lines), "", said)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// redraw replaces what the terminal shows by lines, as far as it has room. The last line is always shown.
func redraw(a *cli.App, lines []string) error {
	u := a.UI(a.Stdout)
	if _, rows := term.Size(a.Stdout); rows > 1 && len(lines) > rows-1 {
		lines = append(lines[:rows-2:rows-2], lines[len(lines)-1])
	}
	var b bytes.Buffer
	b.WriteString("\x1b[H")
	for _, line := range lines {
		b.WriteString(u.Fit(u.Sentence(line)) + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	_, err := a.Stdout.Write(b.Bytes())
	return err
}

func agentRename(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:     "rename AGENT NAME",
		Short:   "Give an agent another name, which its successors keep",
		Example: "  understudy agent rename 7 checkout-flow",
		RunE: onAgent(a, func(ctx context.Context, c *api.Client, g daemon.Agent, args []string) error {
			g, err := c.RenameAgent(ctx, g.ID, args[0])
			return answer(a, g, err, "agent %d is called %s", g.ID, g.Name)
		}),
	})
}

func agentNotify(a *cli.App) *cobra.Command {
	says := map[string]string{"on": "on", "off": "off", "persona": ""}
	return a.WithJSON(&cobra.Command{
		Use:   "notify AGENT on|off|persona",
		Short: "Choose whether you are notified when an agent has finished a turn",
		Long: `Choose whether you are notified when an agent has finished a turn, with what it said. The default is
what the agent's persona says with notify_finished in its skill.md, else off. Successors keep it.`,
		Example: "  understudy agent notify 7 on\n  understudy agent notify checkout-flow persona",
		RunE: func(c *cobra.Command, args []string) error {
			to, ok := says[args[1]]
			if !ok {
				return cli.Usagef("%q is none of on, off and persona", args[1])
			}
			client, agent, err := findAgent(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			how := ": " + to
			if to == "" {
				how = " if its persona says so"
			}
			agent, err = client.NotifyWhenFinished(c.Context(), agent.ID, to)
			return answer(a, agent, err, "agent %d notifies of finished turns%s", agent.ID, how)
		},
	})
}

// seen tells the daemon that the operator looks at an agent. An agent that has ended meanwhile, and a daemon that is away, are
// no errors of the command.
func seen(ctx context.Context, a *cli.App, c *api.Client, id int64) error {
	agent, err := c.Agent(ctx, id)
	if err == nil {
		err = c.SeeAgent(ctx, &agent)
	}
	var told *daemon.Error
	if errors.As(err, &told) {
		return nil
	}
	return err
}
