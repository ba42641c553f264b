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

// full fills every field of a memory except the fork.
func full(m *agentMemory) {
	m.watched, m.sighting, m.glimpse = tmux.Process{PID: 7}, sighting{known: true}, glimpse{looksWithout: 1}
	m.unreadySince, m.lastEnter, m.actedRung = time.Now(), press{delivery: 3}, daemon.StopTerm
	m.measured, m.unknownTold = measurement{read: true}, true
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
			d.memories.change(id, full)
		}
		d.memories.change(ended, func(m *agentMemory) { m.fork = forkMemory{hasPlace: true, committedAt: now} })
		if err := d.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, id := range []int64{ended, pruned} {
			if !slices.Contains(d.lanes.Woken(), agentLane(id)) {
				t.Errorf("agent %d has ended and is remembered: the sweep has not woken its lane", id)
			}
			d.runLane(t.Context(), agentLane(id))
		}
		if ids := d.memories.ids(func(agentMemory) bool { return true }); !slices.Equal(ids, []int64{active}) {
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
	d.memories.change(1, full)
	if !d.memories.takeForkPlace(1) {
		t.Fatal("no place is free")
	}
	d.memories.forget(1)
	if m := d.memories.of(1); m != (agentMemory{fork: forkMemory{hasPlace: true}}) {
		t.Errorf("remembered: %+v, want the fork alone", m)
	}
	d.endFork(1)
	if len(d.memories.agents) != 0 {
		t.Errorf("remembered after the fork: %v", d.memories.agents)
	}
}

// TestRunForgetsOnlyGoroutinesAndForks: what the operator was told before is not told again.
func TestRunForgetsOnlyGoroutinesAndForks(t *testing.T) {
	t.Parallel()
	d := New(Config{Log: slog.New(slog.DiscardHandler)})
	d.memories.change(1, full)
	want := d.memories.of(1)
	want.watched = tmux.Process{}
	d.memories.takeForkPlace(1)
	d.memories.change(2, func(m *agentMemory) { m.watched = tmux.Process{PID: 8} })
	d.memories.beginRun()
	if got := d.memories.of(1); got != want {
		t.Errorf("remembered: %+v, want %+v", got, want)
	}
	if len(d.memories.agents) != 1 {
		t.Errorf("%d agents are remembered, want one", len(d.memories.agents))
	}
}
