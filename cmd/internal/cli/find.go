package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// Agent returns the agent that a word names: an id, or the name or persona of exactly one that
// has not ended.
func (a *App) Agent(ctx context.Context, word string) (*api.Client, daemon.Agent, error) {
	c, err := a.Client()
	if err != nil {
		return nil, daemon.Agent{}, err
	}
	if _, err := strconv.ParseUint(word, 10, 64); err == nil {
		id, err := ParseID("agent", word)
		if err != nil {
			return nil, daemon.Agent{}, err
		}
		agent, err := c.Agent(ctx, id)
		return c, agent, err
	}
	active, err := ActiveAgents(ctx, c)
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

// called returns the agents that a word names: those with the name, and else those that play the persona.
func called(agents []daemon.Agent, word string) (found []daemon.Agent) {
	for _, by := range []func(*daemon.Agent) string{func(g *daemon.Agent) string { return g.Name }, (*daemon.Agent).PersonaSlug} {
		for i := range agents {
			if by(&agents[i]) == word {
				found = append(found, agents[i])
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// SelfWord names, in the place of an agent, the one that runs the command.
const SelfWord = "self"

// AgentOrSelf returns the id of the agent that a word names, with a client that may ask for its
// handoff.
func (a *App) AgentOrSelf(ctx context.Context, word string) (*api.Client, int64, error) {
	if word == SelfWord {
		return a.Self(ctx)
	}
	c, agent, err := a.Agent(ctx, word)
	return c, agent.ID, err
}

// Self returns the id of the agent that runs this command. One that the daemon started asks over the
// socket that it was given, by the secret of its launch; one that a person started is found by the
// session that its runtime names.
func (a *App) Self(ctx context.Context) (*api.Client, int64, error) {
	word, secret, socket := a.Getenv("UNDERSTUDY_AGENT_ID"), a.Getenv("UNDERSTUDY_LAUNCH"), a.Getenv("UNDERSTUDY_SOCKET")
	if word != "" && secret != "" && socket != "" {
		id, err := ParseID("agent", word)
		return api.NewAgentClient(socket, secret), id, err
	}
	session := a.Getenv("CLAUDE_CODE_SESSION_ID")
	if session == "" {
		return nil, 0, errors.New("`self` works inside an agent: `understudy agent list` shows those that can be named")
	}
	c, err := a.Client()
	if err != nil {
		return nil, 0, err
	}
	active, err := ActiveAgents(ctx, c)
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

// ActiveAgents lists all agents that have not ended.
func ActiveAgents(ctx context.Context, c *api.Client) ([]daemon.Agent, error) {
	const page = 100
	o := api.ListOptions{State: "active", Limit: page}
	var all []daemon.Agent
	for {
		list, err := c.Agents(ctx, o)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		if len(list) < page {
			return all, nil
		}
		o.Before = list[len(list)-1].ID
	}
}

// ParseID reads an id from the command line.
func ParseID(what, word string) (int64, error) {
	id, err := strconv.ParseInt(word, 10, 64)
	if err != nil || id <= 0 {
		return 0, Usagef("%q is no id of %s %s: it must be a number such as 7", word, article(what), what)
	}
	return id, nil
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an"
	}
	return "a"
}

// TextOrStdin returns the text, or what stdin holds if it is a dash.
func (a *App) TextOrStdin(s string) (string, error) {
	if s != "-" {
		return s, nil
	}
	const most = 1 << 20 // more than any text may have; the daemon says how many that are
	b, err := io.ReadAll(io.LimitReader(a.Stdin, most))
	if err != nil {
		return "", fmt.Errorf("text from stdin: %w", err)
	}
	return strings.TrimRight(string(b), "\n"), nil
}
