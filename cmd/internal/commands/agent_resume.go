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
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

func agentResume(a *cli.App) *cobra.Command {
	var wait, all bool
	c := a.WithJSON(&cobra.Command{
		Use:   "resume (AGENT... | --all)",
		Short: "Open ended agents' sessions again, as new agents of their lines",
		Long: `Open ended agents' sessions again, as new agents of their lines. A name or a persona stands for the
agent that died last and whose work nobody continues; if none has died, for the one that ended last.

With --all: those of all agents that died within the last day, which nobody asked for, and whose
work nobody continues. Each session is opened once, whoever asks and how often. A session without a
conversation is not opened; the command says so, and what to do next. ` + "`understudy serve --resume`" + `
resumes by itself after a start.`,
		Example: `  understudy agent resume 7
  understudy agent resume developer-con-1 reviewer-ada-1
  understudy agent resume --all        # after the machine or its tmux server has ended`,
		ValidArgsFunction: completeEnded(a),
		RunE: func(c *cobra.Command, args []string) error {
			client := a.Client()
			if all {
				return resumeAll(c.Context(), a, client, wait)
			}
			return forEach(a, args, func(word string) (any, error) {
				old, err := findEnded(c.Context(), client, word)
				if err != nil {
					return nil, err
				}
				next, err := client.ResumeAgent(c.Context(), old.ID)
				if err != nil {
					return nil, err
				}
				return awaitStarted(c.Context(), a, client, &next, wait)
			})
		},
	})
	c.Flags().BoolVar(&all, "all", false, "all agents that died and whose work nobody continues")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the agent has registered, not only until it has a pane")
	return c
}

// resumeAll resumes the agents that died and whose work nobody continues, and says of each what became of it.
func resumeAll(ctx context.Context, a *cli.App, client *api.Client, wait bool) error {
	done, err := client.ResumeAgents(ctx)
	if err != nil {
		return err
	}
	failed := false
	for i := range done {
		d := &done[i]
		if d.Started != nil {
			var now daemon.Agent
			if now, err = awaitStarted(ctx, a, client, d.Started, wait); err == nil {
				d.Started = &now
				continue
			}
		} else {
			err = &daemon.Error{Code: d.Error.Code, Message: d.Error.Message}
		}
		failed = true
		fmt.Fprintf(a.Stderr, "understudy: agent %d (%s): %s\n", d.AgentID, words.Terminal(d.Name), words.Terminal(a.WithData(cli.Sentence(err))))
	}
	switch {
	case a.JSON:
		err = a.PrintJSON(done)
	case len(done) == 0:
		err = say(a, "no agent has died whose work nobody continues")
	default:
		err = nil
	}
	if failed && err == nil {
		return cli.ErrSilent
	}
	return err
}

// findEnded returns the agent that a word names for a resumption. The word is an id, or a name or a persona.
func findEnded(ctx context.Context, c *api.Client, word string) (daemon.Agent, error) {
	if _, err := strconv.ParseUint(word, 10, 64); err == nil {
		id, err := parseID("agent", word)
		if err != nil {
			return daemon.Agent{}, err
		}
		return c.Agent(ctx, id)
	}
	ended, err := allAgents(ctx, c, api.ListOptions{State: string(daemon.Ended)}, 2000)
	if err != nil {
		return daemon.Agent{}, err
	}
	active, err := activeAgents(ctx, c)
	if err != nil {
		return daemon.Agent{}, err
	}
	needs, err := c.Attention(ctx)
	if err != nil {
		return daemon.Agent{}, err
	}
	found := called(lastOfLines(ended, active), word)
	died := slices.DeleteFunc(slices.Clone(found), func(g daemon.Agent) bool { return !diedAlone(needs, g.ID) })
	switch {
	case len(died) == 1:
		return died[0], nil
	case len(died) > 1:
		var who []string
		for i := range died {
			who = append(who, fmt.Sprintf("%d (in %s)", died[i].ID, words.Terminal(died[i].Cwd)))
		}
		slices.Reverse(who)
		return daemon.Agent{}, fmt.Errorf("%q could be agent %s, which died: use the id, or --all", word, strings.Join(who, " or "))
	case len(found) > 0:
		return found[0], nil
	}
	if now := called(active, word); len(now) > 0 {
		return daemon.Agent{}, fmt.Errorf("agent %d (%s) is active: attach to it with `understudy agent attach %[1]d`", now[0].ID, words.Terminal(now[0].Name))
	}
	return daemon.Agent{}, fmt.Errorf("no ended agent with a session is called %q: `understudy agent list --all` shows those that have ended", word)
}

// diedAlone reports whether an agent died and nobody continues its work.
func diedAlone(needs []views.Attention, id int64) bool {
	return slices.ContainsFunc(needs, func(n views.Attention) bool {
		return slices.Contains(n.Died(), id)
	})
}

// lastOfLines returns the ended agents that have a session, and in whose line no later agent is active or has one, the newest
// first.
func lastOfLines(ended, active []daemon.Agent) (last []daemon.Agent) {
	over := map[int64]bool{} // a later agent of the line goes on with the work
	for _, g := range slices.Concat(active, ended) {
		goesOn := g.Active() || over[g.ID] || g.SessionID != nil && g.RegisteredAt != nil
		if goesOn && g.PreviousAgentID != nil {
			over[*g.PreviousAgentID] = true
		}
		if !g.Active() && !over[g.ID] && g.SessionID != nil && g.RegisteredAt != nil {
			last = append(last, g)
		}
	}
	return last
}
