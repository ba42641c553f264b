package db

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

func TestPipelinesWakeTheirHost(t *testing.T) {
	t.Parallel()
	db := open(t)
	foreign := aRun(t, db, 1)
	foreign.Host = "h 2"
	p := aRun(t, db, 1)
	wakes, _ := listening(t, db)
	equal(t, "first wake", wait(t, "first wake", wakes), int64(0))
	commit(t, db, &daemon.Change{NewPipeline: foreign})
	stale := ranTo(foreign, daemon.PipelineRunning)
	stale.PipelineMove.Pipeline.Seq++
	wantErr(t, "stale", db.Commit(t.Context(), stale), daemon.ErrMoved)
	commit(t, db, &daemon.Change{NewPipeline: p})
	equal(t, "new run", wait(t, "wake for a new run", wakes), -p.ID)
	commit(t, db, ranTo(p, daemon.PipelineRunning))
	equal(t, "run", wait(t, "wake for a run", wakes), -p.ID)
	a := newWorker(t, db, p, 0)
	equal(t, "agent", wait(t, "wake for its agent", wakes), a.ID)
	equal(t, "wakes too many", len(wakes), 0)
}

// TestPipelineWritersDoNotDeadlock makes changes of pipelines, changes of their agents, and hooks write the same rows.
func TestPipelineWritersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db := open(t)
	var runs []*daemon.Pipeline
	var agents []*daemon.Agent
	for i := range 2 {
		runs = append(runs, newRun(t, db, 1, to(daemon.PipelineRunning)))
		agents = append(agents, newWorker(t, db, runs[i], 0))
	}
	var committed atomic.Int64
	write := func() error {
		i := rand.IntN(len(runs))
		p, err := db.Pipeline(t.Context(), runs[i].ID)
		if err != nil {
			return err
		}
		a, err := db.Agent(t.Context(), agents[rand.IntN(len(agents))].ID)
		if err != nil {
			return err
		}
		c := &daemon.Change{Events: []*event.Event{{Type: "t", Host: "h1"}}}
		if rand.IntN(3) > 0 {
			c.PipelineMove = &daemon.PipelineMove{Pipeline: &p, Steps: []*daemon.Step{&p.Steps[0]}}
			c.Admit = rand.IntN(2) * 100
		}
		if rand.IntN(3) > 0 {
			a.LaunchHash = fmt.Append(nil, rand.Int64())
			c.Agents = []*daemon.Agent{&a}
		}
		if rand.IntN(3) > 0 {
			id, err := db.NextID(t.Context(), daemon.AgentIDs)
			if err != nil {
				return err
			}
			c.NewAgent = &daemon.Agent{
				ID: id, Host: "h1", State: daemon.Ended, AgentEnd: daemon.AgentEnd{EndedAt: new(now())}, PreviousAgentID: &a.ID, AgentPane: daemon.AgentPane{TmuxSession: fmt.Sprint(id)},
				PipelineID: &p.ID, StepID: &p.Steps[0].ID,
			}
		}
		return db.Commit(t.Context(), c)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 40 {
				if err := write(); err == nil {
					committed.Add(1)
				} else if !errors.Is(err, daemon.ErrMoved) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if committed.Load() < 40 {
		t.Errorf("only %d commits", committed.Load())
	}
}
