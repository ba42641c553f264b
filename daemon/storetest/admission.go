package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// running lists the runs that are at work.
func running(t *testing.T, st daemon.Store) map[int64]bool {
	t.Helper()
	runs, err := st.Pipelines(t.Context(), daemon.PipelineFilter{Status: daemon.PipelineRunning})
	ids := map[int64]bool{}
	for _, p := range must(t, runs, err) {
		ids[p.ID] = true
	}
	return ids
}

// admissionUnderPressure creates twenty runs at once where four have room. Whenever one ends, all
// that wait ask at once: the oldest is admitted, and no other.
func admissionUnderPressure(t *testing.T, st daemon.Store) {
	const limit = 4
	var wg sync.WaitGroup
	var admitted atomic.Int64
	for range 20 {
		p := ARun(t, st, 1)
		wg.Go(func() {
			To(daemon.PipelineRunning)(p)
			c := &daemon.Change{NewPipeline: p, Admit: limit, Events: []*daemon.Event{{Type: "created", Host: "h1"}}}
			err := st.Commit(t.Context(), c)
			if errors.Is(err, daemon.ErrNoRoom) {
				To(daemon.PipelinePending)(p)
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
		t.Fatalf("%d are at work, %d were admitted, want %d", n, admitted.Load(), limit)
	}
	for range 20 - limit {
		for id := range running(t, st) {
			Commit(t, st, RanTo(RunOf(t, st, id), daemon.PipelineDone))
			break
		}
		pending, err := st.Pipelines(t.Context(), daemon.PipelineFilter{Status: daemon.PipelinePending})
		must(t, pending, err)
		before := running(t, st)
		for _, p := range pending {
			wg.Go(func() {
				c := RanTo(&p, daemon.PipelineRunning)
				c.Admit = limit
				if err := st.Commit(t.Context(), c); err != nil && !errors.Is(err, daemon.ErrNoRoom) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		before[pending[len(pending)-1].ID] = true
		equal(t, "at work", running(t, st), before)
	}
}

// admissionCountsWhatIsAtWork has a host of its own for each case.
func admissionCountsWhatIsAtWork(t *testing.T, st daemon.Store) {
	const (
		pending = daemon.PipelinePending
		running = daemon.PipelineRunning
		failed  = daemon.PipelineFailed
	)
	run := func(host string, status daemon.PipelineStatus) *daemon.Pipeline {
		return NewRun(t, st, 1, func(p *daemon.Pipeline) { To(status)(p); p.Host = host })
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
		"nothing":                      {func(string) {}, 0},
		"a run at work":                {with(running, 0), 1},
		"its agents":                   {with(running, 3), 1},
		"a run that waits":             {with(daemon.PipelineWaiting, 0), 0},
		"its agent, still there":       {with(daemon.PipelineWaiting, 1), 1},
		"a run that ended":             {with(failed, 0), 0},
		"its agents, still there":      {with(failed, 2), 2},
		"agents of a run that is done": {with(daemon.PipelineDone, 2), 2},
		"agents that are gone": {func(host string) {
			a := worker(run(host, failed))
			a.State, a.EndedAt = daemon.Ended, ptr(now())
			Commit(t, st, &daemon.Change{Agents: []*daemon.Agent{a}})
		}, 0},
		"agents of no run": {func(host string) { NewAgent(t, st, func(a *daemon.Agent) { a.Host = host }) }, 0},
		"another host": {func(host string) {
			worker(run(host+"2", failed))
			run(host+"2", running)
			run(host+"2", pending)
		}, 0},
		"a run and an agent": {func(host string) { with(running, 1)(host); with(failed, 1)(host) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tt.before(name)
			p := run(name, failed) // to be resumed, while its own agent is still there
			worker(p)
			run(name, pending) // a younger one that waits
			p = RunOf(t, st, p.ID)
			for _, status := range []daemon.PipelineStatus{running, pending} {
				c := RanTo(p, status)
				c.Run.Steps[0].Comment = "changed"
				c.Events = []*daemon.Event{{Type: "t", Host: name}}
				if c.Admit = tt.used; c.Admit > 0 {
					if err := st.Commit(t.Context(), c); !errors.Is(err, daemon.ErrNoRoom) {
						t.Errorf("with %d in use, of %d: %v", tt.used, c.Admit, err)
					}
					equal(t, "refused", RunOf(t, st, p.ID), p)
					if c.Run.Pipeline.Seq != p.Seq || c.Events[0].ID != 0 {
						t.Error("the change's rows were advanced")
					}
				}
				c.Admit = tt.used + 1
				Commit(t, st, c)
				p = RunOf(t, st, p.ID)
			}
		})
	}
}

func admissionKeepsTheOrder(t *testing.T, st daemon.Store) {
	first, second := NewRun(t, st, 1, nil), NewRun(t, st, 1, nil)
	admit := func(p *daemon.Pipeline) error {
		c := RanTo(p, daemon.PipelineRunning)
		c.Admit = 10
		return st.Commit(t.Context(), c)
	}
	if err := admit(second); !errors.Is(err, daemon.ErrNoRoom) {
		t.Errorf("past an older one that waits: %v", err)
	}
	third := ARun(t, st, 1)
	if err := st.Commit(t.Context(), &daemon.Change{NewPipeline: third, Admit: 10}); !errors.Is(err, daemon.ErrNoRoom) {
		t.Errorf("a new one past those that wait: %v", err)
	}
	equal(t, "runs", len(everything(t, st).Runs), 2)
	for _, p := range []*daemon.Pipeline{first, second} {
		if err := admit(p); err != nil {
			t.Error(err)
		}
	}
	Commit(t, st, &daemon.Change{NewPipeline: third, Admit: 10})
}
