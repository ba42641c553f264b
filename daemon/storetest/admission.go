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
