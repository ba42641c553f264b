package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// AgentTable is a list of agents to draw.
type AgentTable struct {
	Agents []daemon.Agent
	Needs  map[int64]views.Attention // by agent: why it needs a person
	Now    time.Time
	Home   string                   // is written as ~; "": nothing is
	Wide   bool                     // all columns
	Usage  map[int64]views.UsageRow // by agent: what it has used today; for a wide list
}

// agentColumn is a column of a list of agents.
type agentColumn struct {
	term.Column

	wide int // 0: of both lists; onlyWide or onlyShort
	cell func(t *AgentTable, g *daemon.Agent) string
}

const onlyWide, onlyShort = 1, 2

// differ reports whether the name of an agent does not say its persona.
func (t *AgentTable) differ() bool {
	return slices.ContainsFunc(t.Agents, func(g daemon.Agent) bool { return g.PersonaSlug() != g.Name })
}

func agentColumns() []agentColumn {
	return []agentColumn{
		{term.Column{Title: "ID", Worth: 0}, 0, func(_ *AgentTable, g *daemon.Agent) string { return fmt.Sprint(g.ID) }},
		{term.Column{Title: "NAME", Least: 14, Most: 28, Worth: 1}, 0, func(_ *AgentTable, g *daemon.Agent) string { return g.Name }},
		{term.Column{Title: "STATE", Least: 16, Most: 34, Worth: 2}, 0, (*AgentTable).state},
		{term.Column{Title: "WAITS FOR"}, onlyWide, (*AgentTable).waitsFor},
		{term.Column{Title: "CTX", Worth: 6}, onlyShort, func(_ *AgentTable, g *daemon.Agent) string { return shortContext(g.Context) }},
		{term.Column{Title: "CONTEXT"}, onlyWide, func(_ *AgentTable, g *daemon.Agent) string { return views.ContextWords(g.Context) }},
		{term.Column{Title: "WHERE", Least: 18, Most: 44, Worth: 3, Fit: fit.Where}, onlyShort, func(t *AgentTable, g *daemon.Agent) string {
			return words.Where(words.Home(g.Cwd, t.Home), g.Repository, g.Branch)
		}},
		{term.Column{Title: "WAITS FOR / LAST", Least: 16, Worth: 4}, onlyShort, func(t *AgentTable, g *daemon.Agent) string {
			return cmp.Or(t.waitsFor(g), t.last(g))
		}},
		{term.Column{Title: "DIRECTORY"}, onlyWide, func(t *AgentTable, g *daemon.Agent) string { return words.Home(g.Cwd, t.Home) }},
		{term.Column{Title: "REPOSITORY"}, onlyWide, func(_ *AgentTable, g *daemon.Agent) string { return g.Repository }},
		{term.Column{Title: "BRANCH"}, onlyWide, func(_ *AgentTable, g *daemon.Agent) string { return g.Branch }},
		{term.Column{Title: "PERSONA", Least: 12, Most: 24, Worth: 8}, 0, func(t *AgentTable, g *daemon.Agent) string {
			if !t.Wide && !t.differ() { // a name says it
				return ""
			}
			return g.PersonaSlug()
		}},
		{term.Column{Title: "HOST", Least: 6, Most: 16, Worth: 5}, 0, (*AgentTable).host},
		{term.Column{Title: "RUNTIME"}, onlyWide, func(_ *AgentTable, g *daemon.Agent) string { return g.Runtime }},
		{term.Column{Title: "PANE"}, onlyWide, func(_ *AgentTable, g *daemon.Agent) string { return term.Text(g.Pane) }},
		{term.Column{Title: "GEN"}, onlyWide, func(_ *AgentTable, g *daemon.Agent) string { return fmt.Sprint(g.Generation) }},
		{term.Column{Title: "STARTED"}, onlyWide, func(_ *AgentTable, g *daemon.Agent) string { return term.Stamp(&g.CreatedAt) }},
		{term.Column{Title: "TOKENS TODAY"}, onlyWide, func(t *AgentTable, g *daemon.Agent) string {
			if u, ok := t.Usage[g.ID]; ok {
				return words.Tokens(u.Total)
			}
			return ""
		}},
		{term.Column{Title: "COST TODAY"}, onlyWide, func(t *AgentTable, g *daemon.Agent) string {
			if u, ok := t.Usage[g.ID]; ok {
				return u.CostWords()
			}
			return ""
		}},
		{term.Column{Title: "ASKED"}, onlyWide, func(_ *AgentTable, g *daemon.Agent) string { return g.Asked }},
		{term.Column{Title: "SAID"}, onlyWide, func(_ *AgentTable, g *daemon.Agent) string { return g.LastMessage }},
	}
}

// AgentLines draws a list of agents within width characters; 0: without a limit.
func AgentLines(t AgentTable, width int) []string {
	var columns []term.Column
	var cells []func(*AgentTable, *daemon.Agent) string
	for _, c := range agentColumns() {
		if t.Wide && c.wide == onlyShort || !t.Wide && c.wide == onlyWide {
			continue
		}
		columns, cells = append(columns, c.Column), append(cells, c.cell)
	}
	rows := make([][]string, len(t.Agents))
	for i := range t.Agents {
		for _, cell := range cells {
			rows[i] = append(rows[i], cell(&t, &t.Agents[i]))
		}
	}
	return term.Grid(columns, rows, width)
}

func (t *AgentTable) state(g *daemon.Agent) string {
	if g.State == daemon.Limited && g.LimitedUntil != nil {
		return StateCell(g, t.Needs[g.ID].Kind)
	}
	since := g.StateAt
	if g.EndedAt != nil {
		since = *g.EndedAt
	}
	return StateCell(g, t.Needs[g.ID].Kind) + " " + words.Age(t.Now.Sub(since))
}

func (t *AgentTable) waitsFor(g *daemon.Agent) string { return t.Needs[g.ID].Brief }

// host names the host if the list has agents of several hosts.
func (t *AgentTable) host(g *daemon.Agent) string {
	if t.Wide || slices.ContainsFunc(t.Agents, func(b daemon.Agent) bool { return b.Host != g.Host }) {
		return g.Host
	}
	return ""
}

// last says what an agent was asked last while it works, and else what it said last, or how it ended.
func (*AgentTable) last(g *daemon.Agent) string {
	switch {
	case g.EndReason != nil:
		return EndWords(g.EndReason)
	case g.LastMessage != "" && g.State != daemon.Working && g.State != daemon.Waiting:
		return "said: " + g.LastMessage
	case g.Asked != "":
		return "asked: " + g.Asked
	}
	return ""
}

// shortContext says how full a context window is in the few characters that a narrow list has.
func shortContext(u *daemon.ContextUse) string {
	switch {
	case u == nil:
		return ""
	case u.Percent == nil:
		return words.Tokens(u.Tokens)
	}
	return words.Percent(*u.Percent)
}

// SortKeys returns the keys by which a list of agents can be sorted.
func SortKeys() []string {
	return []string{"id", "name", "persona", "state", "since", "finished", "context", "directory", "host"}
}

// SortAgents sorts agents by one of the [SortKeys]; "" leaves the order. By state, those that need a person come first and then
// those that have finished; by since, the longest in their state; by finished, the newest; by context, the fullest.
func SortAgents(list []daemon.Agent, key string, needs map[int64]views.Attention) {
	rank := func(g *daemon.Agent) int {
		if _, needy := needs[g.ID]; needy {
			return 0
		}
		if g.Unread && g.State == daemon.Idle {
			return 1
		}
		return 2 + slices.Index([]daemon.AgentState{daemon.Waiting, daemon.Working, daemon.Limited, daemon.Idle, daemon.Starting, daemon.Ended}, g.State)
	}
	by := map[string]func(a, b *daemon.Agent) int{
		"id":      func(a, b *daemon.Agent) int { return cmp.Compare(a.ID, b.ID) },
		"name":    func(a, b *daemon.Agent) int { return cmp.Compare(a.Name, b.Name) },
		"persona": func(a, b *daemon.Agent) int { return cmp.Compare(a.PersonaSlug(), b.PersonaSlug()) },
		"state":   func(a, b *daemon.Agent) int { return cmp.Or(rank(a)-rank(b), a.StateAt.Compare(b.StateAt)) },
		"since":   func(a, b *daemon.Agent) int { return a.StateAt.Compare(b.StateAt) },
		"finished": func(a, b *daemon.Agent) int {
			return cmp.Or(cmp.Compare(unread(b), unread(a)), finishedAt(b).Compare(finishedAt(a)))
		},
		"context":   func(a, b *daemon.Agent) int { return cmp.Compare(percent(b), percent(a)) },
		"directory": func(a, b *daemon.Agent) int { return strings.Compare(a.Cwd, b.Cwd) },
		"host":      func(a, b *daemon.Agent) int { return strings.Compare(a.Host, b.Host) },
	}[key]
	if by != nil {
		slices.SortStableFunc(list, func(a, b daemon.Agent) int { return by(&a, &b) })
	}
}

func unread(g *daemon.Agent) int {
	if g.Unread {
		return 1
	}
	return 0
}

func finishedAt(g *daemon.Agent) time.Time {
	if g.FinishedAt == nil {
		return time.Time{}
	}
	return *g.FinishedAt
}

func percent(g *daemon.Agent) float64 {
	if g.Context == nil || g.Context.Percent == nil {
		return -1
	}
	return *g.Context.Percent
}
