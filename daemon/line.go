package daemon

import (
	"cmp"
	"context"
	"slices"
)

// maxLine is how many handoffs of a line [Daemon.Line] returns at most.
const maxLine = 500

// Generation is one agent of a line, with the handoff that passed its work on, or that should have.
type Generation struct {
	N       int
	AgentID int64
	Agent   *Agent   // nil: its row was not read
	Handoff *Handoff // nil: the agent has none
}

// ContextUse returns how full the agent's context window was when its handoff was recorded. If the handoff does not say
// that, it returns the agent's last measurement. nil: there is neither.
func (g *Generation) ContextUse() *ContextUse {
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
func Generations(agents []Agent, handoffs []Handoff, asked int64) []Generation {
	by := map[int64]*Generation{}
	for i := range agents {
		a := &agents[i]
		by[a.ID] = &Generation{N: a.Generation, AgentID: a.ID, Agent: a}
	}
	worth := func(h *Handoff) int { // the handoff that is worth most is taken
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
func LineEnds(handoffs []Handoff) (ids []int64) {
	for i := range handoffs {
		ids = append(ids, handoffs[i].SuccessorIDs()...)
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id int64) bool {
		return slices.ContainsFunc(handoffs, func(h Handoff) bool { return h.AgentID == id })
	})
}

// Lines groups agents and their handoffs by line. An agent whose predecessor is not among the agents begins a line. The line
// with the newest agent comes first; in each line the oldest generation comes first.
func Lines(agents []Agent, handoffs []Handoff) [][]Generation {
	known := map[int64]*Agent{}
	for i := range agents {
		known[agents[i].ID] = &agents[i]
	}
	members, played := map[int64][]Agent{}, map[int64][]Handoff{}
	first := func(a *Agent) int64 { // the oldest known agent of its line
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

// Line returns the newest handoffs of the line that a handoff's agent belongs to, the newest first.
func (d *Daemon) Line(ctx context.Context, handoffID int64) ([]Handoff, error) {
	h, err := d.Handoff(ctx, handoffID)
	if err != nil {
		return nil, err
	}
	line, err := d.Store.LineHandoffs(ctx, h.AgentID, maxLine)
	if err != nil {
		return nil, err
	}
	return line, d.withReading(ctx, line)
}

// Generations returns the part of an agent's line with at most most agents before it and at most most after it, the
// oldest first. The Agent of each Generation is set.
func (d *Daemon) Generations(ctx context.Context, a *Agent, most int) ([]Generation, error) {
	handoffs, err := d.Store.LineHandoffs(ctx, a.ID, 5*most)
	if err != nil {
		return nil, err
	}
	known := map[int64]Agent{}
	if a.Persona != nil { // most agents of a line play one persona, so read these in one query
		agents, err := d.Agents(ctx, AgentFilter{Persona: *a.Persona})
		if err != nil {
			return nil, err
		}
		for _, other := range agents {
			known[other.ID] = other
		}
	}
	agents, here := []Agent{*a}, map[int64]bool{a.ID: true}
	for _, next := range []func(*Agent) []int64{
		func(a *Agent) []int64 { return idList(a.PreviousAgentID) },
		func(a *Agent) []int64 { return heirsIn(handoffs, a) },
	} {
		walk := []Agent{*a}
		for walked := 0; len(walk) > 0 && walked < most; {
			at := walk[0]
			walk = walk[1:]
			for _, id := range next(&at) {
				if here[id] || walked == most {
					continue
				}
				other, ok := known[id]
				if !ok {
					if other, err = d.Agent(ctx, id); err != nil {
						return nil, err
					}
				}
				agents, walk, here[id] = append(agents, other), append(walk, other), true
				walked++
			}
		}
	}
	handoffs = slices.DeleteFunc(handoffs, func(h Handoff) bool { return !here[h.AgentID] })
	return Generations(agents, handoffs, 0), nil
}

// idList returns a list with an id, or an empty one.
func idList(id *int64) (ids []int64) {
	if id != nil {
		ids = append(ids, *id)
	}
	return ids
}

// heirsIn returns the ids of an agent's newest successor, which may have opened its session again, and of its heirs in the given
// handoffs.
func heirsIn(handoffs []Handoff, a *Agent) []int64 {
	ids := idList(a.SuccessorID)
	for i := range handoffs {
		if h := &handoffs[i]; h.AgentID == a.ID {
			ids = append(ids, h.SuccessorIDs()...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
