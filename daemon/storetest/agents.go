package storetest

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// WholeAgent returns an agent in which no field is empty, not committed.
func WholeAgent(t testing.TB, st daemon.Store) *daemon.Agent {
	t.Helper()
	before := NewAgent(t, st, nil)
	a := whole[daemon.Agent]()
	a.ID, a.PreviousAgentID, a.SuccessorID = nextOf(t, st, daemon.AgentIDs), &before.ID, nil
	a.State, a.StopStage = daemon.Ended, daemon.StopKill
	a.Note = a.Hold.Words()
	run := NewPipeline(t, st, 1, nil)
	a.PipelineID, a.StepID = &run.ID, &run.Steps[0].ID
	tree := &daemon.Worktree{ID: nextOf(t, st, daemon.WorktreeIDs), Host: "h1", Branch: "b", State: daemon.TreePlanned, CreatedAt: now()}
	Commit(t, st, &daemon.Change{NewWorktree: tree})
	a.WorktreeID = &tree.ID
	return &a
}

func listsHaveALimit(t *testing.T, st daemon.Store) {
	c := &daemon.Change{}
	first := NewAgent(t, st, nil)
	for range 101 {
		c.NewDeliveries = append(c.NewDeliveries, ADelivery(t, st, first.ID))
	}
	for range 501 {
		c.Events = append(c.Events, &event.Event{Type: "t", Host: "h1", Alert: true})
	}
	Commit(t, st, c)
	for name, n := range map[string][2]int{
		"deliveries":      {len(result(st.Deliveries(t.Context(), first.ID, 0, 0))(t)), 100},
		"open deliveries": {len(result(st.OpenDeliveries(t.Context(), first.ID))(t)), 101},
		"events":          {len(result(st.Events(t.Context(), event.Filter{}))(t)), 500},
		"audit":           {len(result(st.Audit(t.Context(), daemon.AuditFilter{}))(t)), 100},
		"pending alerts":  {len(result(st.PendingAlerts(t.Context(), "h1", 0))(t)), 100},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %d, want %d", name, n[0], n[1])
		}
	}
}
