package storetest

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// endedAgo returns a change for [NewAgent]: the agent ended that long ago.
func endedAgo(ago time.Duration) func(*daemon.Agent) {
	return func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, new(now().Add(-ago)) }
}

// forget prunes the agents and pipelines that ended over an hour ago, two at a time.
func forget(t *testing.T, st daemon.Store) (all daemon.PrunedHistory) {
	t.Helper()
	for {
		some := result(st.PruneHistory(t.Context(), now().Add(-time.Hour), 2))(t)
		if some == (daemon.PrunedHistory{}) {
			return all
		}
		all.Pipelines, all.Agents, all.Handoffs = all.Pipelines+some.Pipelines, all.Agents+some.Agents, all.Handoffs+some.Handoffs
	}
}

// end marks agents as ended two hours ago.
func end(t *testing.T, st daemon.Store, agents ...*daemon.Agent) {
	t.Helper()
	for _, a := range agents {
		fresh := result(st.Agent(t.Context(), a.ID))(t)
		endedAgo(2 * time.Hour)(&fresh)
		Commit(t, st, &daemon.Change{Agents: []*daemon.Agent{&fresh}})
	}
}

// handedOver commits a completed handoff with its record and with the delivery of its instruction.
func handedOver(t *testing.T, st daemon.Store, from, to *daemon.Agent) {
	t.Helper()
	h := NewHandoff(t, st, from.ID)
	d := ADelivery(t, st, from.ID)
	d.HandoffID, d.State, d.Verdict = &h.ID, daemon.DeliveryDone, new(daemon.Submitted)
	next := *h
	next.DeliveryID, next.SuccessorID = &d.ID, &to.ID
	Commit(t, st, &daemon.Change{Move: &daemon.Move{Handoff: &next, From: h.Phase}, NewDeliveries: []*daemon.Delivery{d}})
	c := Recorded(&next, WholeRecord(h))
	Commit(t, st, c)
	Commit(t, st, Moved(c.Move.Handoff, daemon.Completed))
}

// pruneHistoryKeepsWhatIsNeeded: the store keeps every agent of a line with an active agent, and everything that
// is still open.
func pruneHistoryKeepsWhatIsNeeded(t *testing.T, st daemon.Store) {
	old := endedAgo(2 * time.Hour)
	first := NewAgent(t, st, old)
	second := NewAgent(t, st, func(a *daemon.Agent) { old(a); a.PreviousAgentID = &first.ID })
	handedOver(t, st, first, second)
	third := NewAgent(t, st, func(a *daemon.Agent) { a.PreviousAgentID = &second.ID }) // is active
	NewHandoff(t, st, NewAgent(t, st, old).ID)                                         // is open
	NewDelivery(t, st, NewAgent(t, st, old).ID)                                        // is open
	active := NewAgent(t, st, nil)
	NewAgent(t, st, func(a *daemon.Agent) { old(a); a.PreviousAgentID = &active.ID }) // its predecessor is active
	open := NewHandoff(t, st, active.ID)
	open.SuccessorID = &NewAgent(t, st, old).ID // has ended, but its handoff is open
	open.Heirs = []daemon.HandoffHeir{{}, {AgentID: &NewAgent(t, st, old).ID}}
	Commit(t, st, &daemon.Change{Move: &daemon.Move{Handoff: open, From: open.Phase}})
	p := NewPipeline(t, st, 1, InStatus(daemon.PipelineRunning))
	end(t, st, NewWorker(t, st, p, 0)) // its pipeline is open
	NewPipeline(t, st, 1, InStatus(daemon.PipelineFailed))
	before := everything(t, st)
	equal(t, "pruned", forget(t, st), daemon.PrunedHistory{})
	equal(t, "left", everything(t, st), before)

	end(t, st, third)
	equal(t, "pruned when the whole line has ended", forget(t, st), daemon.PrunedHistory{Agents: 3, Handoffs: 1})

	r := WholeRecord(open)
	r.AgentID = NewAgent(t, st, old).ID // the record stays with its handoff
	Commit(t, st, &daemon.Change{NewRecord: r})
	if done, err := st.PruneHistory(t.Context(), now().Add(-time.Hour), 2); !violates(err, "records_agent_id_fkey") {
		t.Errorf("pruned %+v: %v", done, err)
	}
}
