package commands

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
)

// findAgent returns the agent that a word names. The word is an id, or the name or persona of exactly one active agent, or how
// the name of exactly one begins.
func findAgent(ctx context.Context, a *cli.App, word string) (*api.Client, daemon.Agent, error) {
	c := a.Client()
	if _, err := strconv.ParseUint(word, 10, 64); err == nil {
		id, err := parseID("agent", word)
		if err != nil {
			return nil, daemon.Agent{}, err
		}
		agent, err := c.Agent(ctx, id)
		return c, agent, err
	}
	active, err := activeAgents(ctx, c)
	if err != nil {
		return nil, daemon.Agent{}, err
	}
	found := called(active, word)
	var ids []string
	for _, g := range found {
		ids = append(ids, fmt.Sprint(g.ID))
	}
	switch len(found) {
	case 0:
		return nil, daemon.Agent{}, fmt.Errorf("no active agent is called %q: `understudy agent list` shows those that are", word)
	case 1:
		return c, found[0], nil
	}
	slices.Reverse(ids)
	return nil, daemon.Agent{}, fmt.Errorf("%q could be agent %s: use the id", word, strings.Join(ids, " or "))
}

// onAgent makes what a command does with the agent that its first argument names. do gets the other arguments.
func onAgent(a *cli.App, do func(ctx context.Context, c *api.Client, g daemon.Agent, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		client, agent, err := findAgent(c.Context(), a, args[0])
		if err != nil {
			return err
		}
		return do(c.Context(), client, agent, args[1:])
	}
}

// onID makes what a command does with the row whose id its first argument is.
func onID(a *cli.App, what string, do func(ctx context.Context, c *api.Client, id int64) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		id, err := parseID(what, args[0])
		if err != nil {
			return err
		}
		return do(c.Context(), a.Client(), id)
	}
}

// called returns the agents whose name is word. If there are none, it returns the agents whose persona is word, and without
// those the agents whose name begins with word.
func called(agents []daemon.Agent, word string) (found []daemon.Agent) {
	for _, is := range []func(*daemon.Agent) bool{
		func(g *daemon.Agent) bool { return g.Name == word },
		func(g *daemon.Agent) bool { return g.PersonaSlug() == word },
		func(g *daemon.Agent) bool { return word != "" && strings.HasPrefix(g.Name, word) },
	} {
		for i := range agents {
			if is(&agents[i]) {
				found = append(found, agents[i])
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// selfWord stands for the agent that runs the command.
const selfWord = "self"

// agentOrSelf returns the id of the agent that a word names, and a client that may ask for that agent's handoff.
func agentOrSelf(ctx context.Context, a *cli.App, word string) (*api.Client, int64, error) {
	if word == selfWord {
		return ownAgent(ctx, a)
	}
	c, agent, err := findAgent(ctx, a, word)
	return c, agent.ID, err
}

// ownAgent returns the id of the agent that runs this command. An agent that the daemon started has its id, its socket and
// its launch secret in the environment. For an agent that a person started, the runtime sets the session id in the
// environment, and ownAgent finds the agent by that id.
func ownAgent(ctx context.Context, a *cli.App) (*api.Client, int64, error) {
	word, secret, socket := a.Getenv("UNDERSTUDY_AGENT_ID"), a.Getenv("UNDERSTUDY_LAUNCH"), a.Getenv("UNDERSTUDY_SOCKET")
	if word != "" && secret != "" && socket != "" {
		id, err := parseID("agent", word)
		return api.NewAgentClient(socket, secret), id, err
	}
	session := a.Getenv("CLAUDE_CODE_SESSION_ID")
	if session == "" {
		return nil, 0, errors.New("`self` works inside an agent: `understudy agent list` shows those that can be named")
	}
	c := a.Client()
	active, err := activeAgents(ctx, c)
	if err != nil {
		return nil, 0, err
	}
	for _, g := range active {
		if g.SessionID != nil && *g.SessionID == session {
			return c, g.ID, nil
		}
	}
	return nil, 0, errors.New("no active agent has this session: `understudy hooks install` has those that you start register")
}

// activeAgents lists all agents that have not ended.
func activeAgents(ctx context.Context, c *api.Client) ([]daemon.Agent, error) {
	return allAgents(ctx, c, api.ListOptions{State: "active"}, math.MaxInt)
}

// allAgents lists the agents that the options select, page by page: at least most of them if there are so many.
func allAgents(ctx context.Context, c *api.Client, o api.ListOptions, most int) (all []daemon.Agent, err error) {
	for o.Limit = 100; ; {
		list, err := c.Agents(ctx, o)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		if len(list) < o.Limit || len(all) >= most {
			return all, nil
		}
		o.Before = list[len(list)-1].ID
	}
}
