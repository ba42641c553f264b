package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// TestDropWaitsForNobody: a delivery that was queued after a change locked its deliveries may be locked by another writer.
// The drop must not wait for that writer, which may itself wait for one of the locked deliveries.
func TestDropWaitsForNobody(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, func(*daemon.Agent) {})
	theirs, free := newDelivery(t, db, a.ID), newDelivery(t, db, a.ID)
	tx := value(db.pool.Begin(t.Context()))(t)
	defer func() { _ = tx.Rollback(context.Background()) }() // it has written nothing
	execute(t, tx, `SELECT FROM deliveries WHERE id = $1 FOR NO KEY UPDATE`, theirs.ID)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	value(db.pool.Exec(ctx, dropQueued, a.ID, "", "", time.Now(), false))(t)
	for _, want := range []struct {
		id    int64
		state daemon.DeliveryState
	}{{theirs.ID, daemon.DeliveryQueued}, {free.ID, daemon.DeliveryDone}} {
		equal(t, fmt.Sprintf("delivery %d is", want.id), value(db.Delivery(t.Context(), want.id))(t).State, want.state)
	}
}

// TestWritersDoNotDeadlock makes hooks and changes write the same rows, in any order.
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
			a.LaunchHash[0] ^= 128 // to change a key column takes the strongest lock
			c.Agents = append(c.Agents, &a)
		}
		for _, i := range rand.Perm(len(deliveries))[:3] {
			d, err := db.Delivery(t.Context(), deliveries[i].ID)
			if err != nil {
				return err
			}
			d.State, d.Verdict = daemon.DeliveryQueued, nil // for another writer to drop
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
		c.Events = []*event.Event{{Type: "t", Host: "h1"}}
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
			d.Change.Events = []*event.Event{{Type: "t", Host: "h1"}}
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
	if committed.Load() < 160 { // the number of hooks
		t.Errorf("only %d commits", committed.Load())
	}
}
