package db

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

func TestOneOfManyMoversWins(t *testing.T) {
	t.Parallel()
	db := open(t)
	h := newHandoff(t, db, newAgent(t, db, nil).ID)
	var wg sync.WaitGroup
	var won atomic.Int64
	for range 16 {
		c := moved(h, daemon.Instructing)
		c.Events = []*daemon.Event{{Type: "handoff_instructing", Host: "h1"}}
		wg.Go(func() {
			switch err := db.Commit(t.Context(), c); {
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
	if won.Load() != 1 || rowCount(t, db, "transitions") != 1 || rowCount(t, db, "events") != 1 {
		t.Errorf("%d won, %d transitions, %d events", won.Load(), rowCount(t, db, "transitions"), rowCount(t, db, "events"))
	}
}

// TestMovedLeavesNothing lets each guard in turn meet a row that somebody else has changed.
func TestMovedLeavesNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, nil)
	h := newHandoff(t, db, a.ID)
	d := newDelivery(t, db, a.ID)
	rows := func() [7]int {
		return [7]int{
			rowCount(t, db, "agents"), rowCount(t, db, "handoffs"), rowCount(t, db, "transitions"),
			rowCount(t, db, "records"), rowCount(t, db, "decisions"),
			rowCount(t, db, "deliveries"), rowCount(t, db, "events"),
		}
	}
	change := func() *daemon.Change {
		agent, delivery := *a, *d
		agent.Cwd, delivery.Evidence = "/changed", "changed"
		c := moved(h, daemon.Instructing)
		c.NewAgent = &daemon.Agent{ID: nextOf(t, db, daemon.AgentIDs), Host: "h1", State: daemon.Starting, TmuxSession: "new"}
		c.Agents, c.Deliveries = []*daemon.Agent{&agent}, []*daemon.Delivery{&delivery}
		c.NewDeliveries = []*daemon.Delivery{aDelivery(t, db, a.ID)}
		c.DropQueued, c.DropEvidence = a.ID, "dropped"
		c.NewRecord = wholeRecord(h)
		c.Events = []*daemon.Event{{Type: "t", Host: "h1"}}
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
		before, c := rows(), change()
		spoil(c)
		rev := c.Agents[0].Rev
		if err := db.Commit(t.Context(), c); !errors.Is(err, daemon.ErrMoved) {
			t.Errorf("%s: %v, want ErrMoved", name, err)
		}
		equal(t, name+": rows", rows(), before)
		gotA, err := db.Agent(t.Context(), a.ID)
		equal(t, name+": agent", must(t, gotA, err).Cwd, a.Cwd)
		gotH, err := db.Handoff(t.Context(), h.ID)
		equal(t, name+": handoff", must(t, gotH, err).Phase, h.Phase)
		gotD, err := db.Delivery(t.Context(), d.ID)
		equal(t, name+": delivery", must(t, gotD, err), *d)
		if c.Agents[0].Rev != rev || c.Events[0].ID != 0 {
			t.Errorf("%s: the change's rows were advanced", name)
		}
	}
	commit(t, db, change()) // unspoilt it goes through
	equal(t, "rows of a commit", rows(), [7]int{2, 1, 1, 1, 2, 2, 1})
}

func TestEmptyChange(t *testing.T) {
	t.Parallel()
	commit(t, open(t), &daemon.Change{})
}

func TestConstraintsKeepNonsenseOut(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, nil)
	h := newHandoff(t, db, a.ID)
	agent := func(change func(*daemon.Agent)) *daemon.Change {
		b := *a
		change(&b)
		return &daemon.Change{Agents: []*daemon.Agent{&b}}
	}
	delivery := func(change func(*daemon.Delivery)) *daemon.Change {
		d := aDelivery(t, db, a.ID)
		change(d)
		return &daemon.Change{NewDeliveries: []*daemon.Delivery{d}}
	}
	record := func(change func(*daemon.Record)) *daemon.Change {
		c := recorded(h, wholeRecord(h))
		change(c.NewRecord)
		return c
	}
	for name, c := range map[string]*daemon.Change{
		"agents_state_known":            agent(func(a *daemon.Agent) { a.State = "dead" }),
		"agents_stop_stage_known":       agent(func(a *daemon.Agent) { a.StopStage = "asked" }),
		"agents_ended":                  agent(func(a *daemon.Agent) { a.State = daemon.Ended }),
		"agents_previous_agent_id_fkey": agent(func(a *daemon.Agent) { a.PreviousAgentID = ptr(int64(999)) }),
		"agents_tmux_session": {NewAgent: &daemon.Agent{
			ID: nextOf(t, db, daemon.AgentIDs), State: daemon.Idle, TmuxSession: a.TmuxSession,
		}},
		"handoffs_phase_known":       moved(h, "done"),
		"handoffs_delivery_id_fkey":  {Move: &daemon.Move{From: h.Phase, Handoff: func() *daemon.Handoff { b := *h; b.DeliveryID = ptr(int64(9)); return &b }()}},
		"handoffs_agent_id_fkey":     {NewHandoff: aHandoff(t, db, 999)},
		"records_handoff_id_fkey":    record(func(r *daemon.Record) { r.HandoffID = 999 }),
		"records_agent_id_fkey":      record(func(r *daemon.Record) { r.AgentID = 999 }),
		"deliveries_kind_known":      delivery(func(d *daemon.Delivery) { d.Kind = "joke" }),
		"deliveries_state_known":     delivery(func(d *daemon.Delivery) { d.State = "sent" }),
		"deliveries_verdict_known":   delivery(func(d *daemon.Delivery) { d.State, d.Verdict = daemon.DeliveryDone, ptr(daemon.Verdict("maybe")) }),
		"deliveries_decided":         delivery(func(d *daemon.Delivery) { d.State = daemon.DeliveryDone }),
		"deliveries_agent_id_fkey":   delivery(func(d *daemon.Delivery) { d.AgentID = 999 }),
		"deliveries_handoff_id_fkey": delivery(func(d *daemon.Delivery) { d.HandoffID = ptr(int64(999)) }),
	} {
		if err := db.Commit(t.Context(), c); !violates(err, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWritersDoNotDeadlock has hooks and changes write the same rows, named in any order.
func TestWritersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db := open(t)
	var agents []*daemon.Agent
	var handoffs []*daemon.Handoff
	var deliveries []*daemon.Delivery
	for i := range 3 {
		agents = append(agents, newAgent(t, db, func(a *daemon.Agent) { a.LaunchHash = []byte{byte(i)} }))
		handoffs = append(handoffs, newHandoff(t, db, agents[i].ID))
		for range 3 {
			deliveries = append(deliveries, newDelivery(t, db, agents[i].ID))
		}
	}
	var committed atomic.Int64
	write := func() error {
		var c daemon.Change
		for _, i := range rand.Perm(len(agents))[:1+rand.IntN(2)] {
			a, err := db.Agent(t.Context(), agents[i].ID)
			if err != nil {
				return err
			}
			a.LaunchHash[0] ^= 128 // a key column, whose change takes the strongest lock
			c.Agents = append(c.Agents, &a)
		}
		for _, i := range rand.Perm(len(deliveries))[:3] {
			d, err := db.Delivery(t.Context(), deliveries[i].ID)
			if err != nil {
				return err
			}
			d.State, d.Verdict = daemon.DeliveryQueued, nil // to be dropped by somebody else
			c.Deliveries = append(c.Deliveries, &d)
		}
		h, err := db.Handoff(t.Context(), handoffs[rand.IntN(len(handoffs))].ID)
		if err != nil {
			return err
		}
		c.Move = &daemon.Move{Handoff: &h, From: h.Phase}
		if rand.IntN(2) == 0 {
			c.Agents = nil
		}
		if rand.IntN(2) == 0 {
			c.DropQueued = h.AgentID
		}
		id, err := db.NextID(t.Context(), daemon.DeliveryIDs)
		if err != nil {
			return err
		}
		c.NewDeliveries = []*daemon.Delivery{{ID: id, AgentID: h.AgentID, HandoffID: &h.ID, Kind: daemon.KindMessage, State: daemon.DeliveryQueued}}
		c.Events = []*daemon.Event{{Type: "t", Host: "h1"}}
		return db.Commit(t.Context(), &c)
	}
	hook := func(key string) error {
		in := daemon.HookInput{Key: key, Event: "Stop", Host: "h1", LaunchHash: []byte{byte(rand.IntN(3))}}
		_, err := db.RecordHook(t.Context(), in, func(tx daemon.HookTx) daemon.HookDecision {
			d := daemon.HookDecision{Applied: true}
			if tx.Agent == nil {
				return d
			}
			d.Change.Agents = []*daemon.Agent{tx.Agent}
			d.Change.Move = &daemon.Move{Handoff: tx.Handoff, From: tx.Handoff.Phase}
			d.Change.Deliveries = tx.Deliveries
			d.Change.Events = []*daemon.Event{{Type: "t", Host: "h1"}}
			return d
		})
		return err
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 40 {
				err := write()
				if w%2 == 0 {
					err = hook(string(rune('a'+w)) + string(rune('a'+i)))
				}
				switch {
				case err == nil:
					committed.Add(1)
				case !errors.Is(err, daemon.ErrMoved):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if committed.Load() < 160 { // each hook at least
		t.Errorf("only %d commits", committed.Load())
	}
}
