package commands

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

func agentDismiss(a *cli.App) *cobra.Command {
	var all bool
	c := a.WithJSON(&cobra.Command{
		Use:   "dismiss (AGENT... | --all)",
		Short: "Say that you have seen that agents died, so that they need you no more",
		Long: `Say that you have seen that agents died, which nobody asked for. They need you no more, and
` + "`understudy agent resume --all`" + ` leaves them alone. Nothing else changes: they are in
` + "`understudy agent list --all`" + `, and ` + "`understudy agent resume AGENT`" + ` still opens a session again.
Otherwise an agent that died needs you for a day. An agent can't dismiss.

A name or a persona stands for the agent of that name that died. With --all: all that need you.`,
		Example: `  understudy agent dismiss 7
  understudy agent dismiss 7 8 developer-con-1
  understudy agent dismiss --all`,
		ValidArgsFunction: completeDied(a),
		RunE: func(c *cobra.Command, args []string) error {
			client := a.Client()
			if all {
				return dismissAll(c.Context(), a, client)
			}
			return forEach(a, args, func(word string) (any, error) {
				id, err := findDied(c.Context(), client, word)
				if err != nil {
					return nil, err
				}
				agent, err := client.DismissAgent(c.Context(), id)
				if err != nil {
					return nil, err
				}
				return agent, sayDismissed(a, &agent)
			})
		},
	})
	c.Flags().BoolVar(&all, "all", false, "all agents that died and need you")
	return c
}

// dismissAll dismisses the agents that the daemon lists now: one that dies meanwhile was seen by nobody.
func dismissAll(ctx context.Context, a *cli.App, c *api.Client) error {
	died, err := diedOf(ctx, c)
	if err != nil {
		return err
	}
	done := []daemon.Agent{}
	if len(died) > 0 {
		if done, err = c.DismissAgents(ctx, died); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.PrintJSON(done)
	}
	for i := range done {
		if err := sayDismissed(a, &done[i]); err != nil {
			return err
		}
	}
	if len(done) == 0 {
		return say(a, "no agent that died needs you")
	}
	return nil
}

func sayDismissed(a *cli.App, g *daemon.Agent) error {
	switch {
	case a.JSON:
		return nil
	case g.DismissedAt == nil:
		return say(a, "agent %d (%s) did not need you", g.ID, words.Terminal(g.Name))
	case g.HasSession() && g.SuccessorID == nil:
		return say(a, "agent %d (%s) is dismissed: `understudy agent resume %[1]d` still opens its session again", g.ID, words.Terminal(g.Name))
	}
	return say(a, "agent %d (%s) is dismissed: `understudy agent show %[1]d` still shows it", g.ID, words.Terminal(g.Name))
}

// diedOf returns the ids of the agents that died and need a person.
func diedOf(ctx context.Context, c *api.Client) (ids []int64, err error) {
	needs, err := c.Attention(ctx)
	for i := range needs {
		ids = append(ids, needs[i].Died()...)
	}
	return ids, err
}

// findDied returns the id of the agent that a word names. The word is an id, or the name or the persona of one that died and needs
// a person.
func findDied(ctx context.Context, c *api.Client, word string) (int64, error) {
	if _, err := strconv.ParseUint(word, 10, 64); err == nil {
		return parseID("agent", word)
	}
	ids, err := diedOf(ctx, c)
	if err != nil {
		return 0, err
	}
	ended, err := allAgents(ctx, c, api.ListOptions{State: string(daemon.Ended)}, 2000)
	if err != nil {
		return 0, err
	}
	found := called(slices.DeleteFunc(ended, func(g daemon.Agent) bool { return !slices.Contains(ids, g.ID) }), word)
	switch len(found) {
	case 0:
		return 0, fmt.Errorf("no agent that died and needs you is called %q: `understudy status` shows who needs you", word)
	case 1:
		return found[0].ID, nil
	}
	var who []string
	for i := range slices.Backward(found) {
		who = append(who, fmt.Sprint(found[i].ID))
	}
	return 0, fmt.Errorf("%q could be agent %s: use the id, or --all", word, strings.Join(who, " or "))
}

// completeDied completes the ids of the agents that died and need a person.
func completeDied(a *cli.App) cobra.CompletionFunc {
	return completeRows(a, func(ctx context.Context, c *api.Client) (died []daemon.Agent, err error) {
		ids, err := diedOf(ctx, c)
		for _, id := range ids {
			if g, err := c.Agent(ctx, id); err == nil {
				died = append(died, g)
			}
		}
		return died, err
	}, agentAbout)
}
