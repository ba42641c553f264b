package engine

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/tmux"
)

// endedStore is a store with agents for which nothing is due.
type endedStore struct{ *rowStore }

func (s endedStore) Agent(_ context.Context, id int64) (daemon.Agent, error) {
	a, ok := s.rows[id]
	if !ok {
		return a, daemon.ErrNotFound
	}
	return a, nil
}

func (endedStore) Handoffs(context.Context, daemon.HandoffFilter) ([]daemon.Handoff, error) {
	return nil, nil
}

func (endedStore) OpenDeliveries(context.Context, int64) ([]daemon.Delivery, error) { return nil, nil }

// full has each floor remember something about an agent.
func full(d *Daemon, id int64) {
	d.Sight.memories.Change(id, func(m *sightMemory) {
		m.watched, m.sighting, m.glimpse, m.unreadySince = tmux.Process{PID: 7}, sighting{known: true}, glimpse{looksWithout: 1}, time.Now()
	})
	d.Courier.memories.Change(id, func(m *courierMemory) { m.lastEnter = press{delivery: 3} })
	d.Supervisor.memories.Change(id, func(m *supervisorMemory) { m.actedRung = daemon.StopTerm })
	d.Flow.memories.Change(id, func(m *flowMemory) { m.read = &readSoFar{} })
	d.memories.Change(id, func(m *hookMemory) { m.measured, m.unknownTold = measurement{read: true}, true })
}

// TestMemoryOfEndedAgentIsDropped: the agent's lane drops it. If something is remembered after that, or after the row
// was pruned, the sweep wakes the lane, which drops it again.
func TestMemoryOfEndedAgentIsDropped(t *testing.T) {
	t.Parallel()
	const active, ended, pruned = 1, 2, 3
	now := time.Now()
	s := endedStore{&rowStore{rows: map[int64]daemon.Agent{
		active: {ID: active, Host: "h", State: daemon.Starting, Managed: true},
		ended:  {ID: ended, Host: "h", State: daemon.Ended, EndedAt: &now},
	}}}
	d := New(Config{Host: "h", Store: s, Log: slog.New(slog.DiscardHandler)})
	d.lanes = lane.New(nil) // the lanes do not run: a wake only marks a lane
	for range 2 {
		for _, id := range []int64{active, ended, pruned} {
			full(d, id)
		}
		d.forks.Change(ended, func(m *forkMemory) { *m = forkMemory{hasPlace: true, committedAt: now} })
		if err := d.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, id := range []int64{ended, pruned} {
			if !slices.Contains(d.lanes.Woken(), agentLane(id)) {
				t.Errorf("agent %d has ended and is remembered: the sweep has not woken its lane", id)
			}
			d.runLane(t.Context(), agentLane(id))
		}
		if ids := append(Remembered(d.Engine), d.forks.all()...); !slices.Equal(ids, []int64{active}) {
			t.Errorf("agents %v are remembered, want the active one", ids)
		}
	}
	d.lanes = lane.New(nil)
	if err := d.sweep(t.Context()); err != nil || slices.Contains(d.lanes.Woken(), agentLane(ended)) || slices.Contains(d.lanes.Woken(), agentLane(pruned)) {
		t.Errorf("%v; lanes woken without a reason: %v", err, d.lanes.Woken())
	}
}

// TestMemoryKeepsTheForkOfAnEndedAgent: a document can be generated from the session of an agent that has ended.
func TestMemoryKeepsTheForkOfAnEndedAgent(t *testing.T) {
	t.Parallel()
	d := New(Config{Log: slog.New(slog.DiscardHandler)})
	full(d, 1)
	if !takeForkPlace(&d.forks, 1) {
		t.Fatal("no place is free")
	}
	Forget(d.Engine, 1)
	if ids := Remembered(d.Engine); len(ids) > 0 || !d.forks.Of(1).hasPlace {
		t.Errorf("agents %v are remembered, and of the fork %+v, want the fork alone", ids, d.forks.Of(1))
	}
	d.endFork(1)
	if ids := d.forks.all(); len(ids) != 0 {
		t.Errorf("remembered after the fork: %v", ids)
	}
}

// TestRunForgetsOnlyGoroutinesAndForks: what the operator was told before is not told again.
func TestRunForgetsOnlyGoroutinesAndForks(t *testing.T) {
	t.Parallel()
	d := New(Config{Log: slog.New(slog.DiscardHandler)})
	full(d, 1)
	sight, hook := d.Sight.memories.Of(1), d.memories.Of(1)
	sight.watched = tmux.Process{}
	takeForkPlace(&d.forks, 1)
	d.Sight.memories.Change(2, func(m *sightMemory) { m.watched = tmux.Process{PID: 8} })
	forgetRun(d)
	if d.Sight.memories.Of(1) != sight || d.memories.Of(1) != hook {
		t.Errorf("remembered: %+v and %+v, want %+v and %+v", d.Sight.memories.Of(1), d.memories.Of(1), sight, hook)
	}
	if ids := append(Remembered(d.Engine), d.forks.all()...); !slices.Equal(ids, []int64{1}) {
		t.Errorf("agents %v are remembered, want one", ids)
	}
}
