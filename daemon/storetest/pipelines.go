package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/personas"
)

// APipeline returns a pending pipeline of host h1 with that many pending steps, not committed.
func APipeline(t testing.TB, st daemon.Store, steps int) *daemon.Pipeline {
	t.Helper()
	p := &daemon.Pipeline{
		ID: nextOf(t, st, daemon.PipelineIDs), Title: "t", Template: "quick_fix", Host: "h1", Status: daemon.PipelinePending,
		Warnings: []string{}, CreatedAt: now(), UpdatedAt: now(), Steps: []daemon.Step{},
	}
	for i := range steps {
		p.Steps = append(p.Steps, daemon.Step{
			ID: nextOf(t, st, daemon.StepIDs), PipelineID: p.ID, OrderIndex: i, AgentName: "developer",
			Number: i + 1, Round: 1, Next: []personas.Rule{}, Status: daemon.StepPending, AgentIDs: []int64{},
		})
	}
	return p
}

// NewPipeline commits a pipeline of host h1, after change if that is not nil.
func NewPipeline(t testing.TB, st daemon.Store, steps int, change func(*daemon.Pipeline)) *daemon.Pipeline {
	t.Helper()
	p := APipeline(t, st, steps)
	if change != nil {
		change(p)
	}
	Commit(t, st, &daemon.Change{NewPipeline: p})
	return p
}

// InStatus returns a change for [NewPipeline]: the pipeline is in that status.
func InStatus(status daemon.PipelineStatus) func(*daemon.Pipeline) {
	return func(p *daemon.Pipeline) {
		p.Status, p.Error, p.FinishedAt = status, nil, nil
		if !p.Open() {
			p.FinishedAt = new(now())
		}
		if status == daemon.PipelineFailed {
			p.Error = new("it broke")
		}
	}
}

// NewWorker commits an agent that works for a step.
func NewWorker(t testing.TB, st daemon.Store, p *daemon.Pipeline, step int) *daemon.Agent {
	t.Helper()
	return NewAgent(t, st, func(a *daemon.Agent) { a.PipelineID, a.StepID = &p.ID, &p.Steps[step].ID })
}

// PipelineOf returns a pipeline as the store has it.
func PipelineOf(t testing.TB, st daemon.Store, id int64) *daemon.Pipeline {
	t.Helper()
	p := result(st.Pipeline(t.Context(), id))(t)
	return new(p)
}

// wholePipeline returns a pipeline in which no field that a store writes is empty, not committed.
func wholePipeline(t testing.TB, st daemon.Store) *daemon.Pipeline {
	t.Helper()
	p := whole[daemon.Pipeline]()
	p.ID, p.Status, p.CurrentAgentID = nextOf(t, st, daemon.PipelineIDs), daemon.PipelineFailed, nil
	for i := range p.Steps {
		s := &p.Steps[i]
		s.ID, s.PipelineID, s.OrderIndex = nextOf(t, st, daemon.StepIDs), p.ID, i
		s.Status, s.AgentIDs, s.LatestHandoff = daemon.StepFailed, []int64{}, nil
		if s.CameFrom = nil; i > 0 {
			s.CameFrom = new(p.Steps[i-1].ID)
		}
	}
	return &p
}

// WholeOutput returns the output of a step in which no field is empty, not committed.
func WholeOutput(t testing.TB, st daemon.Store, stepID, agentID int64) *daemon.StepHandoff {
	t.Helper()
	o := whole[daemon.StepHandoff]()
	o.ID, o.StepID, o.AgentID = nextOf(t, st, daemon.OutputIDs), stepID, agentID
	return &o
}

// readersSeeNoPipelineHalfWritten: one writer changes a pipeline and its step together while others read both. No
// reader sees only one of the changes.
func readersSeeNoPipelineHalfWritten(t *testing.T, st daemon.Store) {
	p := NewPipeline(t, st, 1, nil)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range 300 {
			p.Note, p.Steps[0].Comment = fmt.Sprint(i), fmt.Sprint(i)
			if err := st.Commit(t.Context(), &daemon.Change{PipelineMove: &daemon.PipelineMove{Pipeline: p, Steps: []*daemon.Step{&p.Steps[0]}}}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				got, err := st.Pipeline(t.Context(), p.ID)
				if err != nil || got.Note != got.Steps[0].Comment {
					t.Errorf("a pipeline at %q, its step at %q, %v", got.Note, got.Steps[0].Comment, err)
					return
				}
				select {
				case <-written:
					return
				default:
				}
			}
		})
	}
	wg.Wait()
	<-written
}
