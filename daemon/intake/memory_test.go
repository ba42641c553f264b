package intake

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/lane"
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

// TestMemoryOfEndedAgentIsDropped: the agent's lane drops it. If something is remembered after that, or after the row
// was pruned, the sweep wakes the lane, which drops it again.
func TestMemoryOfEndedAgentIsDropped(t *testing.T) {
	t.Parallel()
	const active, ended, pruned = 1, 2, 3
	now := time.Now()
	s := endedStore{&rowStore{rows: map[int64]daemon.Agent{
		active: {ID: active, Host: "h", State: daemon.Starting, Managed: true},
		ended:  {ID: ended, Host: "h", State: daemon.Ended, AgentEnd: daemon.AgentEnd{EndedAt: &now}},
	}}}
	d := New(engine.Config{Host: "h", Store: s, Log: slog.New(slog.DiscardHandler)})
	d.Lanes = lane.New(nil) // the lanes do not run: a wake only marks a lane
	var m engine.Memory[string]
	engine.Remember(d.Engine, &m)
	for range 2 {
		for _, id := range []int64{active, ended, pruned} {
			m.Change(id, func(m *string) { *m = "remembered" })
		}
		must(t, d.sweep(t.Context()))
		for _, id := range []int64{ended, pruned} {
			if !slices.Contains(d.Lanes.Woken(), engine.LaneOf(id)) {
				t.Errorf("agent %d has ended and is remembered: the sweep has not woken its lane", id)
			}
			d.RunLane(t.Context(), engine.LaneOf(id))
		}
		equal(t, "agents … are remembered, want the active one", engine.Remembered(d.Engine), []int64{active})
	}
	d.Lanes = lane.New(nil)
	if err := d.sweep(t.Context()); err != nil || slices.Contains(d.Lanes.Woken(), engine.LaneOf(ended)) || slices.Contains(d.Lanes.Woken(), engine.LaneOf(pruned)) {
		t.Errorf("%v; lanes woken without a reason: %v", err, d.Lanes.Woken())
	}
}
