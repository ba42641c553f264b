package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

func oneOfManyMoversWins(t *testing.T, st daemon.Store) {
	h := NewHandoff(t, st, NewAgent(t, st, nil).ID)
	var wg sync.WaitGroup
	var won atomic.Int64
	for range 16 {
		c := Moved(h, daemon.Instructing)
		c.Events = []*event.Event{{Type: "handoff_instructing", Host: "h1"}}
		wg.Go(func() {
			switch err := st.Commit(t.Context(), c); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, daemon.ErrMoved):
				t.Error(err)
			case c.Move.Handoff.Seq != 0 || c.Move.Handoff.Status != h.Status || c.Events[0].ID != 0 || !c.Events[0].At.IsZero():
				t.Errorf("the loser's rows were changed: %+v, %+v", c.Move.Handoff, c.Events[0])
			}
		})
	}
	wg.Wait()
	if left := everything(t, st); won.Load() != 1 || len(left.Transitions) != 1 || len(left.Events) != 1 {
		t.Errorf("%d won, %d transitions, %d events", won.Load(), len(left.Transitions), len(left.Events))
	}
}

// movedLeavesNothing: for each guard in turn another writer has changed the row. The whole change is refused.
func movedLeavesNothing(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	h := NewHandoff(t, st, a.ID)
	d := NewDelivery(t, st, a.ID)
	change := func() *daemon.Change {
		agent, delivery := *a, *d
		agent.Cwd, delivery.Evidence = "/changed", "changed"
		c := Moved(h, daemon.Instructing)
		c.NewAgent = &daemon.Agent{ID: nextOf(t, st, daemon.AgentIDs), Host: "h1", State: daemon.Starting, AgentPane: daemon.AgentPane{TmuxSession: "new"}}
		c.Agents, c.Deliveries = []*daemon.Agent{&agent}, []*daemon.Delivery{&delivery}
		c.NewDeliveries = []*daemon.Delivery{ADelivery(t, st, a.ID)}
		c.DropQueued, c.DropEvidence = a.ID, daemon.EvidenceRecorded
		c.NewRecord = WholeRecord(h)
		c.Events = []*event.Event{{Type: "t", Host: "h1"}}
		return c
	}
	for name, spoil := range map[string]func(*daemon.Change){
		"agent":      func(c *daemon.Change) { c.Agents[0].Rev++ },
		"seq":        func(c *daemon.Change) { c.Move.Handoff.Seq++ },
		"phase":      func(c *daemon.Change) { c.Move.From = daemon.Verifying },
		"delivery":   func(c *daemon.Change) { c.Deliveries[0].Rev-- },
		"no agent":   func(c *daemon.Change) { c.Agents[0].ID = 999 },
		"no handoff": func(c *daemon.Change) { c.Move.Handoff.ID = 999 },
	} {
		before, c := everything(t, st), change()
		spoil(c)
		rev := c.Agents[0].Rev
		if err := st.Commit(t.Context(), c); !errors.Is(err, daemon.ErrMoved) {
			t.Errorf("%s: %v, want ErrMoved", name, err)
		}
		equal(t, name, everything(t, st), before)
		if c.Agents[0].Rev != rev || c.Events[0].ID != 0 {
			t.Errorf("%s: the change's rows were advanced", name)
		}
	}
	Commit(t, st, change()) // with all guards right the same change is committed
	left := everything(t, st)
	equal(t, "rows of a commit", [7]int{
		len(left.Agents), len(left.Handoffs), len(left.Transitions), len(left.Records), len(left.Records[0].Decisions),
		len(left.Deliveries), len(left.Events),
	}, [7]int{2, 1, 1, 1, 2, 2, 1})
}

func constraintsKeepNonsenseOut(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	h := NewHandoff(t, st, a.ID)
	agent := func(change func(*daemon.Agent)) *daemon.Change {
		b := *a
		change(&b)
		return &daemon.Change{Agents: []*daemon.Agent{&b}}
	}
	delivery := func(change func(*daemon.Delivery)) *daemon.Change {
		d := ADelivery(t, st, a.ID)
		change(d)
		return &daemon.Change{NewDeliveries: []*daemon.Delivery{d}}
	}
	withRecord := func(change func(*daemon.Record)) *daemon.Change {
		c := Recorded(h, WholeRecord(h))
		change(c.NewRecord)
		return c
	}
	permission := func(change func(*daemon.Permission)) *daemon.Change {
		p := whole[daemon.Permission]()
		p.AgentID, p.State, p.Verdict = a.ID, daemon.PermissionGiven, daemon.Allow
		change(&p)
		return &daemon.Change{NewPermissions: []*daemon.Permission{&p}}
	}
	tree := func(state daemon.TreeState, pipelineID *int64) *daemon.Change {
		return &daemon.Change{NewWorktree: &daemon.Worktree{ID: 8, Host: "h1", Branch: "b", State: state, PipelineID: pipelineID, CreatedAt: now()}}
	}
	for name, c := range map[string]*daemon.Change{
		"permissions_state_known":       permission(func(p *daemon.Permission) { p.State, p.Verdict = "asked", "" }),
		"permissions_verdict_known":     permission(func(p *daemon.Permission) { p.Verdict = "maybe" }),
		"permissions_answered":          permission(func(p *daemon.Permission) { p.Verdict = "" }),
		"permissions_agent_id_fkey":     permission(func(p *daemon.Permission) { p.AgentID = 99999 }),
		"worktrees_state_known":         tree("gone", nil),
		"worktrees_pipeline_id_fkey":    tree(daemon.TreeStanding, new(int64(999))),
		"agents_worktree_id_fkey":       agent(func(a *daemon.Agent) { a.WorktreeID = new(int64(999)) }),
		"handoffs_recorded":             {Move: &daemon.Move{From: h.Phase, Handoff: func() *daemon.Handoff { b := *h; b.Phase = daemon.Recorded; return &b }()}},
		"agents_state_known":            agent(func(a *daemon.Agent) { a.State = "dead" }),
		"agents_stop_stage_known":       agent(func(a *daemon.Agent) { a.StopStage = "asked" }),
		"agents_ended":                  agent(func(a *daemon.Agent) { a.State = daemon.Ended }),
		"agents_previous_agent_id_fkey": agent(func(a *daemon.Agent) { a.PreviousAgentID = new(int64(999)) }),
		"agents_tmux_session": {NewAgent: &daemon.Agent{
			ID: nextOf(t, st, daemon.AgentIDs), State: daemon.Idle, AgentPane: daemon.AgentPane{TmuxSession: a.TmuxSession},
		}},
		"handoffs_phase_known":       Moved(h, "done"),
		"handoffs_delivery_id_fkey":  {Move: &daemon.Move{From: h.Phase, Handoff: func() *daemon.Handoff { b := *h; b.DeliveryID = new(int64(9)); return &b }()}},
		"handoffs_agent_id_fkey":     {NewHandoff: AHandoff(t, st, 999)},
		"records_handoff_id_fkey":    withRecord(func(r *daemon.Record) { r.HandoffID = 999 }),
		"records_agent_id_fkey":      withRecord(func(r *daemon.Record) { r.AgentID = 999 }),
		"deliveries_kind_known":      delivery(func(d *daemon.Delivery) { d.Kind = "joke" }),
		"deliveries_state_known":     delivery(func(d *daemon.Delivery) { d.State = "sent" }),
		"deliveries_verdict_known":   delivery(func(d *daemon.Delivery) { d.State, d.Verdict = daemon.DeliveryDone, new(daemon.Verdict("maybe")) }),
		"deliveries_decided":         delivery(func(d *daemon.Delivery) { d.State = daemon.DeliveryDone }),
		"deliveries_agent_id_fkey":   delivery(func(d *daemon.Delivery) { d.AgentID = 999 }),
		"deliveries_handoff_id_fkey": delivery(func(d *daemon.Delivery) { d.HandoffID = new(int64(999)) }),
	} {
		if err := st.Commit(t.Context(), c); !violates(err, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
