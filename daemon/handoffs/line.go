package handoffs

import (
	"context"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
)

// maxLine is how many handoffs of a line [Flow.Line] returns at most.
const maxLine = 500

// Line returns the newest handoffs of the line that a handoff's agent belongs to, the newest first.
func (d *Flow) Line(ctx context.Context, handoffID int64) ([]daemon.Handoff, error) {
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
func (d *Flow) Generations(ctx context.Context, a *daemon.Agent, most int) ([]views.Generation, error) {
	handoffs, err := d.Store.LineHandoffs(ctx, a.ID, 5*most)
	if err != nil {
		return nil, err
	}
	known := map[int64]daemon.Agent{}
	if a.Persona != nil { // most agents of a line play one persona, so read these in one query
		agents, err := d.Agents(ctx, daemon.AgentFilter{Persona: *a.Persona})
		if err != nil {
			return nil, err
		}
		for _, other := range agents {
			known[other.ID] = other
		}
	}
	agents, here := []daemon.Agent{*a}, map[int64]bool{a.ID: true}
	for _, next := range []func(*daemon.Agent) []int64{
		func(a *daemon.Agent) []int64 { return idList(a.PreviousAgentID) },
		func(a *daemon.Agent) []int64 { return heirsIn(handoffs, a) },
	} {
		walk := []daemon.Agent{*a}
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
	handoffs = slices.DeleteFunc(handoffs, func(h daemon.Handoff) bool { return !here[h.AgentID] })
	return views.Generations(agents, handoffs, 0), nil
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
func heirsIn(handoffs []daemon.Handoff, a *daemon.Agent) []int64 {
	ids := idList(a.SuccessorID)
	for i := range handoffs {
		if h := &handoffs[i]; h.AgentID == a.ID {
			ids = append(ids, h.SuccessorIDs()...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
