package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// running returns the ids of the pipelines that are running.
func running(t *testing.T, st daemon.Store) map[int64]bool {
	t.Helper()
	ids := map[int64]bool{}
	for _, p := range result(st.Pipelines(t.Context(), daemon.PipelineFilter{Status: daemon.PipelineRunning}))(t) {
		ids[p.ID] = true
	}
	return ids
}

// admissionUnderPressure creates twenty pipelines at once on a host that has room for four. Whenever one
// ends, all pending ones ask for its place at once: the store admits the oldest and no other.
func admissionUnderPressure(t *testing.T, st daemon.Store) {
	const limit = 4
	var wg sync.WaitGroup
	var admitted atomic.Int64
	for range 20 {
		p := APipeline(t, st, 1)
		wg.Go(func() {
			InStatus(daemon.PipelineRunning)(p)
			c := &daemon.Change{NewPipeline: p, Admit: limit, Events: []*event.Event{{Type: "created", Host: "h1"}}}
			err := st.Commit(t.Context(), c)
			if errors.Is(err, daemon.ErrNoRoom) {
				InStatus(daemon.PipelinePending)(p)
				err = st.Commit(t.Context(), &daemon.Change{NewPipeline: p})
			} else {
				admitted.Add(1)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(running(t, st)); n != limit || admitted.Load() != limit || len(events(t, st)) != limit {
		t.Fatalf("%d are running, %d were admitted, want %d", n, admitted.Load(), limit)
	}
	for range 20 - limit {
		for id := range running(t, st) {
			Commit(t, st, PipelineMoved(PipelineOf(t, st, id), daemon.PipelineDone))
			break
		}
		pending := result(st.Pipelines(t.Context(), daemon.PipelineFilter{Status: daemon.PipelinePending}))(t)
		before := running(t, st)
		for _, p := range pending {
			wg.Go(func() {
				c := PipelineMoved(&p, daemon.PipelineRunning)
				c.Admit = limit
				if err := st.Commit(t.Context(), c); err != nil && !errors.Is(err, daemon.ErrNoRoom) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		before[pending[len(pending)-1].ID] = true
		equal(t, "running", running(t, st), before)
	}
}

// admissionCountsWhatIsAtWork gives each case a host of its own.
func admissionCountsWhatIsAtWork(t *testing.T, st daemon.Store) {
	const (
		pending = daemon.PipelinePending
		running = daemon.PipelineRunning
		failed  = daemon.PipelineFailed
	)
	run := func(host string, status daemon.PipelineStatus) *daemon.Pipeline {
		return NewPipeline(t, st, 1, func(p *daemon.Pipeline) { InStatus(status)(p); p.Host = host })
	}
	worker := func(p *daemon.Pipeline) *daemon.Agent {
		return NewAgent(t, st, func(a *daemon.Agent) { a.Host, a.PipelineID, a.StepID = p.Host, &p.ID, &p.Steps[0].ID })
	}
	with := func(status daemon.PipelineStatus, agents int) func(string) {
		return func(host string) {
			p := run(host, status)
			for range agents {
				worker(p)
			}
		}
	}
	for name, tt := range map[string]struct {
		before func(host string)
		used   int
	}{
		"nothing":                     {func(string) {}, 0},
		"a running pipeline":          {with(running, 0), 1},
		"a running one with 3 agents": {with(running, 3), 1},
		"a waiting one":               {with(daemon.PipelineWaiting, 0), 0},
		"a waiting one with an agent": {with(daemon.PipelineWaiting, 1), 1},
		"a failed one":                {with(failed, 0), 0},
		"a failed one with 2 agents":  {with(failed, 2), 2},
		"a done one with 2 agents":    {with(daemon.PipelineDone, 2), 2},
		"a failed one, its agent gone": {func(host string) {
			a := worker(run(host, failed))
			a.State, a.EndedAt = daemon.Ended, ptr(now())
			Commit(t, st, &daemon.Change{Agents: []*daemon.Agent{a}})
		}, 0},
		"an agent of no pipeline": {func(host string) { NewAgent(t, st, func(a *daemon.Agent) { a.Host = host }) }, 0},
		"another host": {func(host string) {
			worker(run(host+"2", failed))
			run(host+"2", running)
			run(host+"2", pending)
		}, 0},
		"a running and a failed one": {func(host string) { with(running, 1)(host); with(failed, 1)(host) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tt.before(name)
			p := run(name, failed) // to be resumed; its own agent is still active and does not count
			worker(p)
			run(name, pending) // younger, so it does not go first
			p = PipelineOf(t, st, p.ID)
			for _, status := range []daemon.PipelineStatus{running, pending} {
				c := PipelineMoved(p, status)
				c.PipelineMove.Steps[0].Comment = "changed"
				c.Events = []*event.Event{{Type: "t", Host: name}}
				if c.Admit = tt.used; c.Admit > 0 {
					if err := st.Commit(t.Context(), c); !errors.Is(err, daemon.ErrNoRoom) {
						t.Errorf("with %d in use, of %d: %v", tt.used, c.Admit, err)
					}
					equal(t, "refused", PipelineOf(t, st, p.ID), p)
					if c.PipelineMove.Pipeline.Seq != p.Seq || c.Events[0].ID != 0 {
						t.Error("the change's rows were advanced")
					}
				}
				c.Admit = tt.used + 1
				Commit(t, st, c)
				p = PipelineOf(t, st, p.ID)
			}
		})
	}
}

func admissionKeepsTheOrder(t *testing.T, st daemon.Store) {
	first, second := NewPipeline(t, st, 1, nil), NewPipeline(t, st, 1, nil)
	admit := func(p *daemon.Pipeline) error {
		c := PipelineMoved(p, daemon.PipelineRunning)
		c.Admit = 10
		return st.Commit(t.Context(), c)
	}
	if err := admit(second); !errors.Is(err, daemon.ErrNoRoom) {
		t.Errorf("admitted before an older pending one: %v", err)
	}
	third := APipeline(t, st, 1)
	if err := st.Commit(t.Context(), &daemon.Change{NewPipeline: third, Admit: 10}); !errors.Is(err, daemon.ErrNoRoom) {
		t.Errorf("a new one admitted before the pending ones: %v", err)
	}
	equal(t, "pipelines", len(everything(t, st).Pipelines), 2)
	for _, p := range []*daemon.Pipeline{first, second} {
		if err := admit(p); err != nil {
			t.Error(err)
		}
	}
	Commit(t, st, &daemon.Change{NewPipeline: third, Admit: 10})
}
