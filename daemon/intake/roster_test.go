package intake

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/lane"
)

// rowStore is a database of agents. It counts the rows that are read whole.
type rowStore struct {
	daemon.Store
	mu    sync.Mutex
	rows  map[int64]daemon.Agent
	whole []int64
}

// BudgetMarks has none.
func (s *rowStore) BudgetMarks(context.Context, string, string) ([]daemon.BudgetMark, error) {
	return nil, nil
}

func (s *rowStore) ActiveAgents(context.Context, string) (out []daemon.AgentRev, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.rows {
		if a.Active() {
			out = append(out, daemon.AgentRev{ID: id, Rev: a.Rev})
		}
	}
	slices.SortFunc(out, func(a, b daemon.AgentRev) int { return int(a.ID - b.ID) })
	return out, nil
}

func (s *rowStore) AgentsByID(_ context.Context, ids []int64) (out []daemon.Agent, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = append(s.whole, ids...)
	for _, id := range ids {
		out = append(out, s.rows[id])
	}
	return out, nil
}

func (s *rowStore) Agents(_ context.Context, f daemon.AgentFilter) (out []daemon.Agent, err error) {
	for id := int64(len(s.rows)); id > 0 && len(out) < f.Limit; id-- {
		if f.Before == 0 || id < f.Before {
			out = append(out, s.rows[id])
		}
	}
	return out, nil
}

func (s *rowStore) Open(context.Context, string) (daemon.Open, error) { return daemon.Open{}, nil }

func manyRows(n int) *rowStore {
	s := &rowStore{rows: map[int64]daemon.Agent{}}
	for id := range int64(n) {
		s.rows[id+1] = daemon.Agent{ID: id + 1, State: daemon.Idle}
	}
	return s
}

// The sweep wakes all agents, however many there are.
func TestSweepReadsOnlyRowsThatHaveChanged(t *testing.T) {
	t.Parallel()
	s := manyRows(12_000)
	d := New(engine.Config{Host: "h", Store: s, Log: slog.New(slog.DiscardHandler)})
	woken := map[lane.Key]bool{}
	d.Lanes = lane.New(func(context.Context, lane.Key) time.Duration { return 0 })
	sweep := func() int {
		t.Helper()
		s.whole = nil
		must(t, d.sweep(t.Context()))
		clear(woken)
		for _, key := range d.Lanes.Woken() {
			woken[key] = true
		}
		return len(s.whole)
	}
	if n := sweep(); n != 12_000 || !woken[engine.LaneOf(1)] || !woken[engine.LaneOf(12_000)] {
		t.Errorf("the first sweep read %d rows; agents woken: the first %t, the last %t", n, woken[engine.LaneOf(1)], woken[engine.LaneOf(12_000)])
	}
	equal(t, "a sweep after which nothing has changed read … rows", sweep(), 0)
	now := time.Now()
	s.rows[7], s.rows[8] = daemon.Agent{ID: 7, Rev: 1, State: daemon.Working}, daemon.Agent{ID: 8, Rev: 1, State: daemon.Ended, AgentEnd: daemon.AgentEnd{EndedAt: &now}}
	equal(t, "of one agent that has changed and one that has ended … rows were read", sweep(), 1)
	agents, err := d.Roster.Agents(t.Context())
	if err != nil || len(agents) != 11_999 || agents[6].State != daemon.Working || slices.ContainsFunc(agents, func(a daemon.Agent) bool { return a.ID == 8 }) {
		t.Errorf("%d agents, %v; agent 7 is %s", len(agents), err, agents[6].State)
	}
	equal(t, "rows are kept", len(d.Roster.Rows), 11_999)
}

// Of two callers that read a row at once, the slower one may have the older row.
func TestRosterKeepsTheNewestRow(t *testing.T) {
	t.Parallel()
	r := &engine.Roster{Rows: map[int64]daemon.Agent{}}
	r.Keep([]daemon.Agent{{ID: 1, Rev: 2, Name: "new"}})
	r.Keep([]daemon.Agent{{ID: 1, Rev: 1, Name: "old"}})
	equal(t, "the row that is kept", r.Rows[1].Name, "new")
}

func TestAllAgentsReadsEveryPage(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, engine.RosterPage, engine.RosterPage + 1, 3 * engine.RosterPage} {
		d := New(engine.Config{Host: "h", Store: manyRows(n), Log: slog.New(slog.DiscardHandler)})
		equal(t, "agents in memory and in the store", len(value(d.AllAgents(t.Context(), daemon.AgentFilter{}))(t)), n)
	}
}
