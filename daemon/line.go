package daemon

import (
	"cmp"
	"context"
	"slices"
)

// maxLine is how many handoffs of a line are listed; the older ones are left out.
const maxLine = 500

// Generation is one agent of a line, with the handoff by which its work went on, or was to.
type Generation struct {
	N       int
	AgentID int64
	Agent   *Agent   // nil: it was not read
	Handoff *Handoff // nil: there is none
}

// ContextUse is how full the agent's context was when its work was recorded, or is known to have been last.
func (g *Generation) ContextUse() *ContextUse {
	switch {
	case g.Handoff != nil && g.Handoff.ContextUse != nil:
		return g.Handoff.ContextUse
	case g.Agent != nil:
		return g.Agent.Context
	}
	return nil
}

// Generations makes a line of its agents and of the handoffs of its agents, the oldest generation first. Of an agent's
// handoffs the one counts that was recorded, else the newest; but always the one with the id asked, where it is among them.
func Generations(agents []Agent, handoffs []Handoff, asked int64) []Generation {
	by := map[int64]*Generation{}
	for i := range agents {
		a := &agents[i]
		by[a.ID] = &Generation{N: a.Generation, AgentID: a.ID, Agent: a}
	}
	worth := func(h *Handoff) int {
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

// LineEnd returns the id of the agent that goes on after a line's handoffs, which come newest first, and has none of its
// own yet; 0: there is none.
func LineEnd(handoffs []Handoff) int64 {
	i := slices.IndexFunc(handoffs, func(h Handoff) bool { return h.SuccessorID != nil })
	if i < 0 || slices.ContainsFunc(handoffs, func(h Handoff) bool { return h.AgentID == *handoffs[i].SuccessorID }) {
		return 0
	}
	return *handoffs[i].SuccessorID
}

// Lines groups agents by their lines, as far as these are among them: the line first whose newest agent is the newest,
// and in each the oldest generation first.
func Lines(agents []Agent, handoffs []Handoff) [][]Generation {
	known := map[int64]*Agent{}
	for i := range agents {
		known[agents[i].ID] = &agents[i]
	}
	members, played := map[int64][]Agent{}, map[int64][]Handoff{}
	first := func(a *Agent) int64 { // the oldest that is known of its line
		for range agents { // no line is longer, so the walk ends in a circle as well
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

// Line returns the handoffs of the line that a handoff's agent belongs to, the newest first: those
// of all before it and of all after it.
func (d *Daemon) Line(ctx context.Context, handoffID int64) ([]Handoff, error) {
	h, err := d.Handoff(ctx, handoffID)
	if err != nil {
		return nil, err
	}
	return d.Store.LineHandoffs(ctx, h.AgentID, maxLine)
}

// Generations returns an agent with at most so many before and after it in its line, the oldest first. All their agents
// are read.
func (d *Daemon) Generations(ctx context.Context, a *Agent, most int) ([]Generation, error) {
	handoffs, err := d.Store.LineHandoffs(ctx, a.ID, 5*most)
	if err != nil {
		return nil, err
	}
	known := map[int64]Agent{}
	if a.Persona != nil { // most of a line at once
		agents, err := d.Agents(ctx, AgentFilter{Persona: *a.Persona})
		if err != nil {
			return nil, err
		}
		for _, other := range agents {
			known[other.ID] = other
		}
	}
	agents, here := []Agent{*a}, map[int64]bool{a.ID: true}
	for _, next := range []func(*Agent) *int64{
		func(a *Agent) *int64 { return a.PreviousAgentID }, func(a *Agent) *int64 { return a.SuccessorID },
	} {
		at, walked := *a, 0
		for id := next(&at); id != nil && walked < most && !here[*id]; id = next(&at) {
			var ok bool
			if at, ok = known[*id]; !ok {
				if at, err = d.Agent(ctx, *id); err != nil {
					return nil, err
				}
			}
			agents, here[at.ID] = append(agents, at), true
			walked++
		}
	}
	handoffs = slices.DeleteFunc(handoffs, func(h Handoff) bool { return !here[h.AgentID] })
	return Generations(agents, handoffs, 0), nil
}
