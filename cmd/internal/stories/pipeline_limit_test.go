package stories

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// TestPipelinesBeyondTheLimitWaitInOrder: Five pipelines are created at once, and the limit is two. The other three
// wait, and begin in the order of their creation.
func TestPipelinesBeyondTheLimitWaitInOrder(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.limitPipelines(2)
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held, "reviewer")
		r.start()
		ids := make([]int64, 5)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() { ids[i] = r.startPipeline("held", roof).ID })
		}
		wg.Wait()
		slices.Sort(ids)
		var waited []int64
		for _, id := range ids {
			if p := r.getPipeline(id); p.Status != daemon.PipelineRunning {
				r.wantWaitsForRoom(p)
				waited = append(waited, id)
			}
		}
		if len(waited) != 3 {
			t.Errorf("pipelines %v wait, want 3 of 5", waited)
		}
		store := r.database()
		release()
		r.await("all pipelines done", func() (bool, string) {
			runs, err := store.Pipelines(t.Context(), daemon.PipelineFilter{Status: daemon.PipelineRunning})
			agents, err2 := store.Agents(t.Context(), daemon.AgentFilter{Active: true})
			if err != nil || err2 != nil || len(runs) > 2 || len(agents) > 2 {
				t.Fatalf("%d pipelines and %d agents at work at once, at most 2 may (%v %v)\n%s", len(runs), len(agents), err, err2, r.report())
			}
			done := len(r.eventsWhere(func(e event.Event) bool { return e.Type == "pipeline_done" }))
			return done == 5, fmt.Sprintf("%d done", done)
		})
		r.wantAtMostLive(2)
		var last time.Time
		for _, id := range waited {
			p := r.getPipeline(id)
			if p.StartedAt.Before(last) || p.Note != "" {
				t.Errorf("pipeline %d of %v began at %s, before its turn; its note is %q", id, waited, p.StartedAt, p.Note)
			}
			last = *p.StartedAt
			r.wantPipelineEvents(id, "pipeline_running", 1)
		}
	})
}

// TestAbortMakesRoomForAWaitingPipeline: A pipeline that is aborted while it waits delays no other one. One that is
// aborted at work makes room.
func TestAbortMakesRoomForAWaitingPipeline(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.limitPipelines(1)
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held)
		r.start()
		first, second, third := r.startPipeline("held", roof).ID, r.startPipeline("held", roof).ID, r.startPipeline("held", roof).ID
		r.awaitWorkingAgent(first, 1)
		r.abortPipeline(second, "pending")
		r.abortPipeline(first, "failed")
		r.awaitWorkingAgent(third, 1)
		// A resumed pipeline waits like any other.
		p := r.resumePipeline(second, false)
		r.wantWaitsForRoom(p)
		if p.Error != nil || p.FinishedAt != nil {
			t.Errorf("resumed, the pipeline still has %q, %v", said(p.Error), p.FinishedAt)
		}
		r.wantWaitsForRoom(r.resumePipeline(first, false))
		release()
		for _, id := range []int64{first, second, third} {
			r.awaitPipeline(id, daemon.PipelineDone)
		}
		r.wantAtMostLive(1)
		if a, b := r.pipelineEvents(first, "pipeline_done")[0], r.pipelineEvents(second, "step_running")[0]; a.ID > b.ID {
			t.Errorf("the second pipeline began before the first, which is older, was done")
		}
	})
}

func TestEndingAgentStillTakesUpRoom(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.limitPipelines(1)
		r.writeTemplate("one", "developer")
		r.misbehave("exit-delay=700ms")
		r.start()
		first, second := r.startPipeline("one", roof).ID, r.startPipeline("one", roof).ID
		r.awaitPipeline(first, daemon.PipelineDone)
		r.awaitPipeline(second, daemon.PipelineDone)
		r.wantAtMostLive(1)
	})
}
