package db

import (
	"context"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// listening runs Listen for host h1 until the end of the test.
func listening(t *testing.T, db *DB) (wakes chan int64, events chan struct{}) {
	t.Helper()
	wakes, events = make(chan int64, 1000), make(chan struct{}, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- db.Listen(ctx, "h1", Listener{
			Wake:   func(id int64) { wakes <- id },
			Events: func() { events <- struct{}{} },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := wait(t, "end of Listen", done); err != nil {
			t.Error(err)
		}
	})
	return wakes, events
}

func TestListenTellsTheHostOfItsAgents(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, nil)
	b := newAgent(t, db, func(b *daemon.Agent) { b.Host = "h 2" })
	wakes, events := listening(t, db)
	equal(t, "first wake", wait(t, "first wake", wakes), int64(0))
	wait(t, "first events", events)

	h := newHandoff(t, db, b.ID)
	commit(t, db, &daemon.Change{Events: []*event.Event{{Type: "t", Host: "h 2"}}})
	wait(t, "events of any host", events)
	equal(t, "wakes for another host's agent", len(wakes), 0)
	for name, c := range map[string]*daemon.Change{
		"agent":        {Agents: []*daemon.Agent{a}},
		"new delivery": {NewDeliveries: []*daemon.Delivery{aDelivery(t, db, a.ID)}},
		"dropped":      {DropQueued: a.ID},
		"handoff":      {NewHandoff: aHandoff(t, db, a.ID)},
		"successor": {Move: &daemon.Move{From: h.Phase, Handoff: func() *daemon.Handoff {
			m := *h
			m.SuccessorID, m.Heirs = &a.ID, []daemon.HandoffHeir{{AgentID: &a.ID}}
			return &m
		}()}},
	} {
		commit(t, db, c)
		equal(t, name+": woken for", wait(t, "wake for a "+name, wakes), a.ID)
	}
	in := input("k")
	in.PID, in.PIDStart = 5, 5
	var id int64
	record(t, db, in, func(tx daemon.HookTx) daemon.HookDecision {
		id = tx.NewAgentID
		return daemon.HookDecision{Change: daemon.Change{NewAgent: &daemon.Agent{ID: id, Host: "h1", State: daemon.Idle, AgentPane: daemon.AgentPane{PID: 5, PIDStart: 5}}}}
	})
	equal(t, "new agent", wait(t, "wake for a new agent", wakes), id)
	if len(wakes) != 0 || len(events) != 0 {
		t.Errorf("%d wakes and %d events too many", len(wakes), len(events))
	}
}

func TestListenSurvivesItsConnection(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, nil)
	wakes, events := listening(t, db)
	for range 3 {
		equal(t, "everything may have changed", wait(t, "wake", wakes), int64(0))
		wait(t, "events", events)
		commit(t, db, &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{{Type: "t", Host: "h1"}}})
		equal(t, "wake", wait(t, "wake", wakes), a.ID)
		wait(t, "events", events)
		terminate(t, db, "understudy listen")
	}
	wait(t, "wake after the last loss", wakes)
}

func TestListenNoticesADeadLink(t *testing.T) {
	t.Parallel()
	db, link := linked(t)
	wakes, events := listening(t, db)
	wait(t, "wake", wakes)
	wait(t, "events", events)
	link.dead.Store(true)
	eventually(t, "probe over the dead link", func() bool { return link.swallowed.Load() > 0 })
	link.dead.Store(false)
	equal(t, "everything may have changed", wait(t, "wake after the loss", wakes), int64(0))
	wait(t, "events after the loss", events)
}

func TestParseWake(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]int64{
		"h1 7": 7, "h1 -7": -7, "h1 x 7": 0, "h2 7": 0, "h1": 0, "": 0, "h1 ": 0, "h1 7x": 0, "h1 99999999999999999999": 0,
	} {
		if id, ok := parseWake(payload, "h1"); ok != (want != 0) || ok && id != want {
			t.Errorf("%q: %d, %v", payload, id, ok)
		}
	}
	if id, ok := parseWake("my host 7", "my host"); !ok || id != 7 {
		t.Errorf("a host with a space: %d, %v", id, ok)
	}
}
