package db

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// running lists the runs that are at work.
func running(t *testing.T, db *DB) map[int64]bool {
	t.Helper()
	runs, err := db.Pipelines(t.Context(), daemon.PipelineFilter{Status: daemon.PipelineRunning})
	ids := map[int64]bool{}
	for _, p := range must(t, runs, err) {
		ids[p.ID] = true
	}
	return ids
}

// TestAdmissionUnderPressure creates twenty runs at once where four have room. Whenever one ends, all
// that wait ask at once: the oldest is admitted, and no other.
func TestAdmissionUnderPressure(t *testing.T) {
	t.Parallel()
	db := open(t)
	const limit = 4
	var wg sync.WaitGroup
	var admitted atomic.Int64
	for range 20 {
		p := aRun(t, db, 1)
		wg.Go(func() {
			to(daemon.PipelineRunning)(p)
			c := &daemon.Change{NewPipeline: p, Admit: limit, Events: []*daemon.Event{{Type: "created", Host: "h1"}}}
			err := db.Commit(t.Context(), c)
			if errors.Is(err, daemon.ErrNoRoom) {
				to(daemon.PipelinePending)(p)
				err = db.Commit(t.Context(), &daemon.Change{NewPipeline: p})
			} else {
				admitted.Add(1)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(running(t, db)); n != limit || admitted.Load() != limit || rowCount(t, db, "events") != limit {
		t.Fatalf("%d are at work, %d were admitted, want %d", n, admitted.Load(), limit)
	}
	for range 20 - limit {
		for id := range running(t, db) {
			commit(t, db, ranTo(runOf(t, db, id), daemon.PipelineDone))
			break
		}
		pending, err := db.Pipelines(t.Context(), daemon.PipelineFilter{Status: daemon.PipelinePending})
		must(t, pending, err)
		before := running(t, db)
		for _, p := range pending {
			wg.Go(func() {
				c := ranTo(&p, daemon.PipelineRunning)
				c.Admit = limit
				if err := db.Commit(t.Context(), c); err != nil && !errors.Is(err, daemon.ErrNoRoom) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		before[pending[len(pending)-1].ID] = true
		equal(t, "at work", running(t, db), before)
	}
}

func TestAdmissionCountsWhatIsAtWork(t *testing.T) {
	t.Parallel()
	const (
		pending = daemon.PipelinePending
		running = daemon.PipelineRunning
		failed  = daemon.PipelineFailed
	)
	run := func(status daemon.PipelineStatus) func(*testing.T, *DB) *daemon.Pipeline {
		return func(t *testing.T, db *DB) *daemon.Pipeline { return newRun(t, db, 1, to(status)) }
	}
	with := func(status daemon.PipelineStatus, agents int) func(*testing.T, *DB) {
		return func(t *testing.T, db *DB) {
			p := run(status)(t, db)
			for range agents {
				newWorker(t, db, p, 0)
			}
		}
	}
	for name, tt := range map[string]struct {
		before func(*testing.T, *DB)
		used   int
	}{
		"nothing":                      {func(*testing.T, *DB) {}, 0},
		"a run at work":                {with(running, 0), 1},
		"its agents":                   {with(running, 3), 1},
		"a run that waits":             {with(daemon.PipelineWaiting, 0), 0},
		"its agent, still there":       {with(daemon.PipelineWaiting, 1), 1},
		"a run that ended":             {with(failed, 0), 0},
		"its agents, still there":      {with(failed, 2), 2},
		"agents of a run that is done": {with(daemon.PipelineDone, 2), 2},
		"agents that are gone": {func(t *testing.T, db *DB) {
			a := newWorker(t, db, run(failed)(t, db), 0)
			a.State, a.EndedAt = daemon.Ended, ptr(now())
			commit(t, db, &daemon.Change{Agents: []*daemon.Agent{a}})
		}, 0},
		"agents of no run": {func(t *testing.T, db *DB) { newAgent(t, db, nil) }, 0},
		"another host": {func(t *testing.T, db *DB) {
			p := newRun(t, db, 1, func(p *daemon.Pipeline) { to(failed)(p); p.Host = "h2" })
			newAgent(t, db, func(a *daemon.Agent) { a.Host, a.PipelineID = "h2", &p.ID })
			newRun(t, db, 1, func(p *daemon.Pipeline) { to(running)(p); p.Host = "h2" })
			newRun(t, db, 1, func(p *daemon.Pipeline) { p.Host = "h2" })
		}, 0},
		"a run and an agent": {func(t *testing.T, db *DB) { with(running, 1)(t, db); with(failed, 1)(t, db) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			tt.before(t, db)
			p := newRun(t, db, 1, to(failed)) // to be resumed, while its own agent is still there
			newWorker(t, db, p, 0)
			newRun(t, db, 1, nil) // a younger one that waits
			p = runOf(t, db, p.ID)
			for _, status := range []daemon.PipelineStatus{running, pending} {
				c := ranTo(p, status)
				c.Run.Steps[0].Comment = "changed"
				c.Events = []*daemon.Event{{Type: "t", Host: "h1"}}
				if c.Admit = tt.used; c.Admit > 0 {
					if err := db.Commit(t.Context(), c); !errors.Is(err, daemon.ErrNoRoom) {
						t.Errorf("with %d in use, of %d: %v", tt.used, c.Admit, err)
					}
					equal(t, "refused", runOf(t, db, p.ID), p)
					if c.Run.Pipeline.Seq != p.Seq || c.Events[0].ID != 0 {
						t.Error("the change's rows were advanced")
					}
				}
				c.Admit = tt.used + 1
				commit(t, db, c)
				p = runOf(t, db, p.ID)
			}
		})
	}
}

func TestAdmissionKeepsTheOrder(t *testing.T) {
	t.Parallel()
	db := open(t)
	first, second := newRun(t, db, 1, nil), newRun(t, db, 1, nil)
	admit := func(p *daemon.Pipeline) error {
		c := ranTo(p, daemon.PipelineRunning)
		c.Admit = 10
		return db.Commit(t.Context(), c)
	}
	if err := admit(second); !errors.Is(err, daemon.ErrNoRoom) {
		t.Errorf("past an older one that waits: %v", err)
	}
	third := aRun(t, db, 1)
	if err := db.Commit(t.Context(), &daemon.Change{NewPipeline: third, Admit: 10}); !errors.Is(err, daemon.ErrNoRoom) {
		t.Errorf("a new one past those that wait: %v", err)
	}
	equal(t, "runs", rowCount(t, db, "pipelines"), 2)
	for _, p := range []*daemon.Pipeline{first, second} {
		if err := admit(p); err != nil {
			t.Error(err)
		}
	}
	commit(t, db, &daemon.Change{NewPipeline: third, Admit: 10})
}
