package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// endedAgo has an agent have ended so long ago.
func endedAgo(ago time.Duration) func(*daemon.Agent) {
	return func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, ptr(now().Add(-ago)) }
}

// forget prunes what ended over an hour ago, two at a time.
func forget(t *testing.T, st daemon.Store) (all daemon.PrunedHistory) {
	t.Helper()
	for {
		some, err := st.PruneHistory(t.Context(), now().Add(-time.Hour), 2)
		if must(t, some, err) == (daemon.PrunedHistory{}) {
			return all
		}
		all.Runs, all.Agents, all.Handoffs = all.Runs+some.Runs, all.Agents+some.Agents, all.Handoffs+some.Handoffs
	}
}

// end has agents have ended two hours ago.
func end(t *testing.T, st daemon.Store, agents ...*daemon.Agent) {
	t.Helper()
	for _, a := range agents {
		fresh, err := st.Agent(t.Context(), a.ID)
		must(t, fresh, err)
		endedAgo(2 * time.Hour)(&fresh)
		Commit(t, st, &daemon.Change{Agents: []*daemon.Agent{&fresh}})
	}
}

// handedOver commits a completed handoff with its record, and the delivery of its instruction.
func handedOver(t *testing.T, st daemon.Store, from, to *daemon.Agent) {
	t.Helper()
	h := NewHandoff(t, st, from.ID)
	d := ADelivery(t, st, from.ID)
	d.HandoffID, d.State, d.Verdict = &h.ID, daemon.DeliveryDone, ptr(daemon.Submitted)
	next := *h
	next.DeliveryID, next.SuccessorID = &d.ID, &to.ID
	Commit(t, st, &daemon.Change{Move: &daemon.Move{Handoff: &next, From: h.Phase}, NewDeliveries: []*daemon.Delivery{d}})
	c := Recorded(&next, WholeRecord(h))
	Commit(t, st, c)
	Commit(t, st, Moved(c.Move.Handoff, daemon.Completed))
}

// pruneHistory deletes a line and a run with all that belongs to them, and nothing else.
func pruneHistory(t *testing.T, st daemon.Store) {
	stays := NewAgent(t, st, nil)
	NewRecord(t, st, NewAgent(t, st, endedAgo(time.Minute)).ID)
	NewDelivery(t, st, stays.ID)
	NewRun(t, st, 1, To(daemon.PipelineRunning))
	before := everything(t, st)

	first := NewAgent(t, st, nil)
	second := NewAgent(t, st, func(a *daemon.Agent) { a.PreviousAgentID, a.LaunchHash = &first.ID, []byte("second") })
	third := NewAgent(t, st, func(a *daemon.Agent) { a.PreviousAgentID = &second.ID })
	handedOver(t, st, first, second)
	handedOver(t, st, second, third)
	in := Input("k")
	in.LaunchHash = second.LaunchHash
	hook, _ := RecordHook(t, st, in, nil)
	p := NewRun(t, st, 2, nil)
	worker := NewWorker(t, st, p, 0)
	Commit(t, st, &daemon.Change{NewOutput: WholeOutput(t, st, p.Steps[0].ID, worker.ID)})
	over := RanTo(RunOf(t, st, p.ID), daemon.PipelineDone)
	over.Run.Pipeline.FinishedAt = ptr(now().Add(-2 * time.Hour))
	Commit(t, st, over)
	end(t, st, first, second, third, worker)

	all := everything(t, st)
	would, err := st.WouldPrune(t.Context(), daemon.PruneLimits{Before: now().Add(time.Hour)}, now().Add(-time.Hour))
	equal(t, "would be pruned", must(t, would, err), daemon.PruneReport{Agents: 4, Handoffs: 2, Pipelines: 1})
	equal(t, "left by that", everything(t, st), all)
	equal(t, "pruned", forget(t, st), daemon.PrunedHistory{Runs: 1, Agents: 4, Handoffs: 2})
	equal(t, "left", everything(t, st), before)
	if _, err := st.StoredHook(t.Context(), hook.HookID); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("the hook is there: %v", err)
	}
}

// pruneHistoryKeepsWhatIsNeeded: of a line that goes on all is kept, and so is whatever is not over.
func pruneHistoryKeepsWhatIsNeeded(t *testing.T, st daemon.Store) {
	old := endedAgo(2 * time.Hour)
	first := NewAgent(t, st, old)
	second := NewAgent(t, st, func(a *daemon.Agent) { old(a); a.PreviousAgentID = &first.ID })
	handedOver(t, st, first, second)
	third := NewAgent(t, st, func(a *daemon.Agent) { a.PreviousAgentID = &second.ID }) // works
	NewHandoff(t, st, NewAgent(t, st, old).ID)                                         // open
	NewDelivery(t, st, NewAgent(t, st, old).ID)                                        // open
	lives := NewAgent(t, st, nil)
	NewAgent(t, st, func(a *daemon.Agent) { old(a); a.PreviousAgentID = &lives.ID }) // before it, one that goes on
	arrives := NewHandoff(t, st, lives.ID)
	arrives.SuccessorID = &NewAgent(t, st, old).ID
	Commit(t, st, &daemon.Change{Move: &daemon.Move{Handoff: arrives, From: arrives.Phase}}) // to one that ended before its time
	p := NewRun(t, st, 1, To(daemon.PipelineRunning))
	end(t, st, NewWorker(t, st, p, 0)) // its run goes on
	NewRun(t, st, 1, To(daemon.PipelineFailed))
	before := everything(t, st)
	equal(t, "pruned", forget(t, st), daemon.PrunedHistory{})
	equal(t, "left", everything(t, st), before)

	end(t, st, third)
	equal(t, "pruned when the line is over", forget(t, st), daemon.PrunedHistory{Agents: 3, Handoffs: 1})
}
