package db

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

func TestCensus(t *testing.T) {
	t.Parallel()
	db := open(t)
	nobody, err := db.Census(t.Context(), "h1")
	equal(t, "an empty host", must(t, nobody, err), daemon.Census{
		Agents: map[daemon.AgentState]int{}, Trouble: map[string]int{}, Handoffs: map[daemon.Phase]int{}, Pipelines: map[daemon.PipelineStatus]int{},
	})
	since := now().Add(-time.Hour)
	state := func(s daemon.AgentState, at time.Time) func(*daemon.Agent) {
		return func(a *daemon.Agent) { a.State, a.StateAt = s, at }
	}
	newAgent(t, db, state(daemon.Waiting, since.Add(time.Minute)))
	newAgent(t, db, state(daemon.Waiting, since))
	trouble := &daemon.Trouble{Code: "usage_limit", Since: since}
	newAgent(t, db, func(a *daemon.Agent) { state(daemon.Idle, since.Add(-time.Hour))(a); a.Trouble = trouble })
	newAgent(t, db, func(a *daemon.Agent) { a.State, a.EndedAt, a.Trouble = daemon.Ended, ptr(now()), trouble })
	elsewhere := newAgent(t, db, func(a *daemon.Agent) { a.Host, a.State, a.StateAt = "h2", daemon.Waiting, since.Add(-time.Hour) })
	working := newAgent(t, db, state(daemon.Working, since))
	h := newHandoff(t, db, working.ID)
	commit(t, db, moved(h, daemon.Verifying))
	over := newHandoff(t, db, newAgent(t, db, state(daemon.Working, since)).ID)
	commit(t, db, moved(over, daemon.Cancelled))
	other := aHandoff(t, db, elsewhere.ID)
	other.Host = "h2"
	commit(t, db, &daemon.Change{NewHandoff: other})
	newRun(t, db, 1, to(daemon.PipelineWaiting))
	newRun(t, db, 1, to(daemon.PipelineDone))
	newRun(t, db, 1, func(p *daemon.Pipeline) { to(daemon.PipelineRunning)(p); p.Host = "h2" })

	got, err := db.Census(t.Context(), "h1")
	equal(t, "a host", must(t, got, err), daemon.Census{
		Agents:       map[daemon.AgentState]int{daemon.Waiting: 2, daemon.Idle: 1, daemon.Working: 2},
		Trouble:      map[string]int{"usage_limit": 1},
		WaitingSince: &since,
		Handoffs:     map[daemon.Phase]int{daemon.Verifying: 1},
		Pipelines:    map[daemon.PipelineStatus]int{daemon.PipelineWaiting: 1},
	})
}

func TestPoolStats(t *testing.T) {
	t.Parallel()
	db := open(t)
	conn, err := db.pool.Acquire(t.Context())
	must(t, conn, err)
	held := db.Stats()
	conn.Release()
	if s := db.Stats(); held.Acquired != 1 || s.Acquired != 0 || s.Idle < 1 || s.Max != defaultMaxConns {
		t.Errorf("with a connection taken %+v, without %+v", held, s)
	}
}
