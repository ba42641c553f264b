package dashboard

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
)

const (
	maxLine   = 20  // agents before one, and as many after it
	maxPlayed = 100 // agents, and handoffs, of one persona
)

// generation is an agent as one of its line.
type generation struct {
	daemon.Agent
	Handoff *daemon.Handoff // by which its work went on, or was to; nil: there is none
	This    bool            // the page is about it
	Now     time.Time
}

// Use is how full its context was when its work was recorded, or is known to have been last.
func (g *generation) Use() *daemon.ContextUse {
	if g.Handoff != nil && g.Handoff.ContextUse != nil {
		return g.Handoff.ContextUse
	}
	return g.Context
}

// line returns the agents before and after one, and itself, the newest first.
func (p *Pages) line(ctx context.Context, a *daemon.Agent, page *Page) ([]generation, error) {
	handoffs, err := p.Daemon.AgentLine(ctx, a.ID, maxPlayed)
	if err != nil {
		return nil, err
	}
	known := map[int64]daemon.Agent{}
	if a.Persona != nil { // most of a line at once
		agents, err := p.Daemon.Agents(ctx, daemon.AgentFilter{Persona: *a.Persona, Limit: maxPlayed})
		if err != nil {
			return nil, err
		}
		for _, other := range agents {
			known[other.ID] = other
		}
	}
	walk := func(next func(*daemon.Agent) *int64) (out []daemon.Agent, err error) {
		at := *a
		for id := next(&at); id != nil && len(out) < maxLine; id = next(&at) {
			var ok bool
			if at, ok = known[*id]; !ok {
				if at, err = p.Daemon.Agent(ctx, *id); err != nil {
					return nil, err
				}
			}
			out = append(out, at)
		}
		return out, nil
	}
	before, err := walk(func(a *daemon.Agent) *int64 { return a.PreviousAgentID })
	if err != nil {
		return nil, err
	}
	after, err := walk(func(a *daemon.Agent) *int64 { return a.SuccessorID })
	if err != nil {
		return nil, err
	}
	slices.Reverse(after)
	var out []generation
	by := byAgent(handoffs)
	for _, other := range slices.Concat(after, []daemon.Agent{*a}, before) {
		out = append(out, generation{Agent: other, Handoff: by[other.ID], This: other.ID == a.ID, Now: page.Now})
	}
	return out, nil
}

// byAgent finds each agent's handoff that counts: the one that was recorded, else the newest.
func byAgent(newestFirst []daemon.Handoff) map[int64]*daemon.Handoff {
	out := map[int64]*daemon.Handoff{}
	for i := range newestFirst {
		h := &newestFirst[i]
		if had := out[h.AgentID]; had == nil || had.RecordedAt == nil && h.RecordedAt != nil {
			out[h.AgentID] = h
		}
	}
	return out
}

// lines groups agents by their lines: the line first whose newest agent is the newest, and in each the
// newest first.
func lines(agents []daemon.Agent, handoffs []daemon.Handoff, now time.Time) [][]generation {
	known := map[int64]*daemon.Agent{}
	for i := range agents {
		known[agents[i].ID] = &agents[i]
	}
	first := func(a *daemon.Agent) int64 { // the oldest that is known of its line
		for range agents { // as no line is longer, it ends even in a circle
			if a.PreviousAgentID == nil || known[*a.PreviousAgentID] == nil {
				break
			}
			a = known[*a.PreviousAgentID]
		}
		return a.ID
	}
	by := byAgent(handoffs)
	grouped := map[int64][]generation{}
	for i := range agents {
		id := first(&agents[i])
		grouped[id] = append(grouped[id], generation{Agent: agents[i], Handoff: by[agents[i].ID], Now: now})
	}
	var out [][]generation
	for _, line := range grouped {
		slices.SortFunc(line, func(a, b generation) int { return cmp.Compare(b.ID, a.ID) })
		out = append(out, line)
	}
	slices.SortFunc(out, func(a, b []generation) int { return cmp.Compare(b[0].ID, a[0].ID) })
	return out
}
