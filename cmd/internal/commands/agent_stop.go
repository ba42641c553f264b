package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// stopping says how agents are stopped.
type stopping struct{ force, wait, all, yes bool }

func agentStop(a *cli.App) *cobra.Command {
	var s stopping
	c := a.WithJSON(&cobra.Command{
		Use:   "stop (AGENT... | --all)",
		Short: "Ask agents to exit, and end those that do not",
		Long: `Ask agents to exit, and end those that do not. All are asked before the command waits for one of
them. With --all the command says which agents would be stopped and which of them work, and asks.`,
		Example: `  understudy agent stop 7 --wait
  understudy agent stop 3 4 developer-con-1
  understudy agent stop developer-con-1 --force
  understudy agent stop --all`,
		RunE: func(c *cobra.Command, args []string) error {
			if s.all {
				return stopAll(c.Context(), a, s)
			}
			return stopAgents(c.Context(), a, args, s)
		},
	})
	c.Flags().BoolVar(&s.force, "force", false, "signal the process without typing /exit first")
	c.Flags().BoolVar(&s.wait, "wait", false, "wait until the agent has ended")
	c.Flags().BoolVar(&s.all, "all", false, "all agents that have not ended")
	c.Flags().BoolVarP(&s.yes, "yes", "y", false, "with --all: do not ask")
	return c
}

// stopped is what became of the request to stop one agent.
type stopped struct {
	agent   daemon.Agent
	already bool // it had ended before
	err     error
}

// stopAgents asks all the named agents to exit, and then says of each what became of that.
func stopAgents(ctx context.Context, a *cli.App, named []string, s stopping) error {
	c := a.Client()
	asked := map[string]stopped{}
	for _, word := range named {
		if _, twice := asked[word]; twice {
			continue
		}
		var now stopped
		if _, now.agent, now.err = findAgent(ctx, a, word); now.err == nil {
			if now.already = !now.agent.Active(); !now.already {
				now.agent, now.err = c.StopAgent(ctx, now.agent.ID, s.force)
			}
		}
		asked[word] = now
	}
	return forEach(a, named, func(word string) (any, error) {
		now := asked[word]
		if now.err != nil {
			return nil, now.err
		}
		if s.wait && now.agent.Active() {
			if now.agent, now.err = awaitEnd(ctx, c, now.agent.ID); now.err != nil {
				return nil, now.err
			}
		}
		if !a.JSON {
			fmt.Fprintf(a.Stdout, "agent %d %s\n", now.agent.ID, words.Terminal(now.words()))
		}
		return now.agent, nil
	})
}

// words says what became of the request.
func (s *stopped) words() string {
	switch {
	case s.already:
		return "has ended already"
	case !s.agent.Active():
		return "has ended: " + show.EndWords(s.agent.EndReason)
	}
	return "is asked to stop"
}

// awaitEnd waits until an agent has ended.
func awaitEnd(ctx context.Context, c *api.Client, id int64) (agent daemon.Agent, err error) {
	err = show.Await(ctx, c, nil, func(ctx context.Context) (bool, error) {
		var err error
		agent, err = c.Agent(ctx, id)
		return err == nil && !agent.Active(), err
	})
	return agent, err
}

// stopAll stops all active agents, after a person has said yes.
func stopAll(ctx context.Context, a *cli.App, s stopping) error {
	c := a.Client()
	active, err := activeAgents(ctx, c)
	if err != nil {
		return err
	}
	if len(active) == 0 {
		return answer(a, []outcome{}, nil, "no agent is active")
	}
	question := stopQuestion(active)
	switch {
	case s.yes:
	case !term.IsTerminal(a.Stdin):
		return fmt.Errorf("%s: run this command again with --yes", question)
	case !a.Confirm(ctx, words.Capital(question)+". Stop them?"):
		return errors.New("no agent was stopped")
	}
	var ids []string
	for i := range active {
		ids = append(ids, fmt.Sprint(active[i].ID))
	}
	return stopAgents(ctx, a, ids, s)
}

// stopQuestion says which agents would be stopped, and which of them are in the middle of something.
func stopQuestion(active []daemon.Agent) string {
	var busy []string
	for i := range active {
		if g := &active[i]; g.State == daemon.Working || g.State == daemon.Waiting {
			busy = append(busy, fmt.Sprintf("%d (%s, %s)", g.ID, words.Terminal(g.Name), g.State))
		}
	}
	text := words.Count(len(active), "agent") + " would be stopped"
	switch len(busy) {
	case 0:
		return text + ", none of which works"
	case 1:
		return text + ", of which 1 is at work: " + busy[0]
	}
	return text + fmt.Sprintf(", of which %d are at work: %s", len(busy), strings.Join(busy, ", "))
}
