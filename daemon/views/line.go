package views

import (
	"cmp"
	"slices"

	"github.com/understudyd/understudy/daemon"
)

// Generation is one agent of a line, with the handoff that passed its work on, or that should have.
type Generation struct {
	N       int
	AgentID int64
	Agent   *daemon.Agent   // nil: its row was not read
	Handoff *daemon.Handoff // nil: the agent has none
}

// ContextUse returns how full the agent's context window was when its handoff was recorded. If the handoff does not say
// that, it returns the agent's last measurement. nil: there is neither.
func (g *Generation) ContextUse() *daemon.ContextUse {
	switch {
	case g.Handoff != nil && g.Handoff.ContextUse != nil:
		return g.Handoff.ContextUse
	case g.Agent != nil:
		return g.Agent.Context
	}
	return nil
}

// Generations puts a line together from its agents and their handoffs, the oldest generation first. If an agent has
// several handoffs, it takes the one whose id is asked; otherwise the newest recorded one; if none is recorded, the
// newest.
func Generations(agents []daemon.Agent, handoffs []daemon.Handoff, asked int64) []Generation {
	by := map[int64]*Generation{}
	for i := range agents {
		a := &agents[i]
		by[a.ID] = &Generation{N: a.Generation, AgentID: a.ID, Agent: a}
	}
	worth := func(h *daemon.Handoff) int { // the handoff that is worth most is taken
		switch {
		case h == nil:
			return 0
		case h.ID == asked:
			return 3
		case h.RecordedAt != nil:
			return 2
		}
		return 1
	}
	for i := range handoffs {
		h := &handoffs[i]
		g := by[h.AgentID]
		if g == nil {
			g = &Generation{N: h.Generation, AgentID: h.AgentID}
			by[h.AgentID] = g
		}
		if more := worth(h) - worth(g.Handoff); more > 0 || more == 0 && g.Handoff.ID < h.ID {
			g.Handoff = h
		}
	}
	line := make([]Generation, 0, len(by))
	for _, g := range by {
		line = append(line, *g)
	}
	slices.SortFunc(line, func(a, b Generation) int { return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.AgentID, b.AgentID)) })
	return line
}

// LineEnds returns the ids of the agents at the ends of a line, in order: of the successors that have no handoff of their own
// among those of the line.
func LineEnds(handoffs []daemon.Handoff) (ids []int64) {
	for i := range handoffs {
		ids = append(ids, handoffs[i].SuccessorIDs()...)
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id int64) bool {
		return slices.ContainsFunc(handoffs, func(h daemon.Handoff) bool { return h.AgentID == id })
	})
}

// Lines groups agents and their handoffs by line. An agent whose predecessor is not among the agents begins a line. The line
// with the newest agent comes first; in each line the oldest generation comes first.
func Lines(agents []daemon.Agent, handoffs []daemon.Handoff) [][]Generation {
	known := map[int64]*daemon.Agent{}
	for i := range agents {
		known[agents[i].ID] = &agents[i]
	}
	members, played := map[int64][]daemon.Agent{}, map[int64][]daemon.Handoff{}
	first := func(a *daemon.Agent) int64 { // the oldest known agent of its line
		for range agents { // no line has more agents, so the walk ends even if the rows form a circle
			if a.PreviousAgentID == nil || known[*a.PreviousAgentID] == nil {
				break
			}
			a = known[*a.PreviousAgentID]
		}
		return a.ID
	}
	for i := range agents {
		id := first(&agents[i])
		members[id] = append(members[id], agents[i])
	}
	for _, h := range handoffs {
		if a := known[h.AgentID]; a != nil {
			played[first(a)] = append(played[first(a)], h)
		}
	}
	var out [][]Generation
	for id, line := range members {
		out = append(out, Generations(line, played[id], 0))
	}
	slices.SortFunc(out, func(a, b []Generation) int { return cmp.Compare(b[len(b)-1].AgentID, a[len(a)-1].AgentID) })
	return out
}
