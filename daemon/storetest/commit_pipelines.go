package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// PipelineMoved returns a change that writes a copy of p in another status, with all its steps.
func PipelineMoved(p *daemon.Pipeline, status daemon.PipelineStatus) *daemon.Change {
	next := *p
	next.Steps = slices.Clone(p.Steps)
	InStatus(status)(&next)
	m := &daemon.PipelineMove{Pipeline: &next}
	for i := range next.Steps {
		m.Steps = append(m.Steps, &next.Steps[i])
	}
	return &daemon.Change{PipelineMove: m}
}

func oneOfManyWritersOfAPipelineWins(t *testing.T, st daemon.Store) {
	p := NewPipeline(t, st, 1, nil)
	var wg sync.WaitGroup
	var won atomic.Int64
	for i := range 16 {
		c := PipelineMoved(p, daemon.PipelineRunning)
		c.PipelineMove.Steps[0].Input = fmt.Sprint(i)
		c.Events = []*event.Event{{Type: "t", Host: "h1"}}
		wg.Go(func() {
			err := st.Commit(t.Context(), c)
			if err == nil {
				won.Add(1)
				equal(t, "step", PipelineOf(t, st, p.ID).Steps[0].Input, fmt.Sprint(i))
			} else if !errors.Is(err, daemon.ErrMoved) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(events(t, st)); won.Load() != 1 || n != 1 {
		t.Errorf("%d won, %d events", won.Load(), n)
	}
}

// movedPipelineLeavesNothing: for each guard in turn the row is not as it was read. The whole change is refused.
func movedPipelineLeavesNothing(t *testing.T, st daemon.Store) {
	p, other := NewPipeline(t, st, 2, InStatus(daemon.PipelineRunning)), NewPipeline(t, st, 1, nil)
	a := NewWorker(t, st, p, 0)
	p = PipelineOf(t, st, p.ID)
	change := func() *daemon.Change {
		c := PipelineMoved(p, daemon.PipelineWaiting)
		c.PipelineMove.Pipeline.Note, c.PipelineMove.Steps[0].Comment, c.PipelineMove.Steps[1].Comment = "changed", "changed", "changed"
		agent := *a
		agent.Cwd = "/changed"
		c.Agents = []*daemon.Agent{&agent}
		c.NewAgent = &daemon.Agent{
			ID: nextOf(t, st, daemon.AgentIDs), Host: "h1", State: daemon.Starting, AgentPane: daemon.AgentPane{TmuxSession: "new"},
			PipelineID: &p.ID, StepID: &p.Steps[1].ID,
		}
		c.NewDeliveries = []*daemon.Delivery{ADelivery(t, st, a.ID)}
		c.NewPipeline = APipeline(t, st, 2)
		c.NewOutput = WholeOutput(t, st, p.Steps[0].ID, c.NewAgent.ID)
		c.Events = []*event.Event{{Type: "t", Host: "h1"}}
		return c
	}
	for name, spoil := range map[string]func(*daemon.Change){
		"seq":            func(c *daemon.Change) { c.PipelineMove.Pipeline.Seq++ },
		"no pipeline":    func(c *daemon.Change) { c.PipelineMove.Pipeline.ID = 999 },
		"no step":        func(c *daemon.Change) { c.PipelineMove.Steps[1].ID = 999 },
		"another's step": func(c *daemon.Change) { c.PipelineMove.Steps[1].ID = other.Steps[0].ID },
		"agent":          func(c *daemon.Change) { c.Agents[0].Rev++ },
	} {
		before, c := everything(t, st), change()
		spoil(c)
		seq := c.PipelineMove.Pipeline.Seq
		if err := st.Commit(t.Context(), c); !errors.Is(err, daemon.ErrMoved) {
			t.Errorf("%s: %v, want ErrMoved", name, err)
		}
		equal(t, name, everything(t, st), before)
		if c.PipelineMove.Pipeline.Seq != seq || c.Events[0].ID != 0 {
			t.Errorf("%s: the change's rows were advanced", name)
		}
	}
	Commit(t, st, change()) // with all guards right the same change is committed
	left := everything(t, st)
	steps, outputs := 0, 0
	for _, p := range left.Pipelines {
		for _, s := range p.Steps {
			steps++
			if s.LatestHandoff != nil {
				outputs++
			}
		}
	}
	equal(t, "rows of a commit", [6]int{len(left.Pipelines), steps, outputs, len(left.Agents), len(left.Deliveries), len(left.Events)},
		[6]int{3, 5, 1, 2, 1, 1})
}

func aStepLeavesOneOutput(t *testing.T, st daemon.Store) {
	p := NewPipeline(t, st, 2, InStatus(daemon.PipelineRunning))
	a := NewWorker(t, st, p, 0)
	o := WholeOutput(t, st, p.Steps[0].ID, a.ID)
	Commit(t, st, &daemon.Change{NewOutput: o})
	before := PipelineOf(t, st, p.ID)
	c := PipelineMoved(p, daemon.PipelineDone)
	c.NewOutput = WholeOutput(t, st, p.Steps[0].ID, a.ID)
	c.Events = []*event.Event{{Type: "t", Host: "h1"}}
	if err := st.Commit(t.Context(), c); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("second output: %v, want ErrMoved", err)
	}
	equal(t, "pipeline", PipelineOf(t, st, p.ID), before)
	equal(t, "events", len(events(t, st)), 0)
	c.NewOutput.StepID = p.Steps[1].ID
	Commit(t, st, c)
}

// theNextStepBeginsAsOneEnds passes the steps in an order in which the index steps_one_running would refuse them
// if the store wrote them one after the other.
func theNextStepBeginsAsOneEnds(t *testing.T, st daemon.Store) {
	p := NewPipeline(t, st, 2, func(p *daemon.Pipeline) {
		InStatus(daemon.PipelineRunning)(p)
		p.Steps[0].Status = daemon.StepRunning
	})
	c := PipelineMoved(p, daemon.PipelineRunning)
	c.PipelineMove.Steps[0].Status, c.PipelineMove.Steps[1].Status = daemon.StepDone, daemon.StepRunning
	slices.Reverse(c.PipelineMove.Steps)
	order := slices.Clone(c.PipelineMove.Steps)
	Commit(t, st, c)
	equal(t, "the caller's list", c.PipelineMove.Steps, order)
	got := PipelineOf(t, st, p.ID)
	equal(t, "steps", []daemon.StepStatus{got.Steps[0].Status, got.Steps[1].Status}, []daemon.StepStatus{daemon.StepDone, daemon.StepRunning})
}

func constraintsKeepNonsenseOutOfPipelines(t *testing.T, st daemon.Store) {
	p := NewPipeline(t, st, 2, nil)
	run := func(change func(*daemon.Pipeline)) *daemon.Change {
		q := APipeline(t, st, 2)
		change(q)
		return &daemon.Change{NewPipeline: q}
	}
	agent := func(pipelineID, stepID *int64) *daemon.Change {
		return &daemon.Change{NewAgent: &daemon.Agent{
			ID: nextOf(t, st, daemon.AgentIDs), State: daemon.Idle, PipelineID: pipelineID, StepID: stepID,
		}}
	}
	for name, c := range map[string]*daemon.Change{
		"pipelines_status_known": run(func(p *daemon.Pipeline) { p.Status = "broken" }),
		"pipelines_failed":       run(func(p *daemon.Pipeline) { p.Error = new("e") }),
		"pipelines_finished":     run(func(p *daemon.Pipeline) { p.Status = daemon.PipelineDone }),
		"pipelines_pkey":         run(func(q *daemon.Pipeline) { q.ID = p.ID }),
		"steps_status_known":     run(func(p *daemon.Pipeline) { p.Steps[1].Status = "broken" }),
		"steps_came_from_fkey":   run(func(p *daemon.Pipeline) { p.Steps[1].CameFrom = new(int64(999)) }),
		"steps_came_from_key": run(func(p *daemon.Pipeline) {
			p.Steps[0].CameFrom, p.Steps[1].CameFrom = &p.Steps[0].ID, &p.Steps[0].ID
		}),
		"steps_order": run(func(p *daemon.Pipeline) { p.Steps[1].OrderIndex = 0 }),
		"steps_one_running": run(func(p *daemon.Pipeline) {
			p.Steps[0].Status, p.Steps[1].Status = daemon.StepRunning, daemon.StepRunning
		}),
		"step_handoffs_step_id_fkey":  {NewOutput: WholeOutput(t, st, 999, NewAgent(t, st, nil).ID)},
		"step_handoffs_agent_id_fkey": {NewOutput: WholeOutput(t, st, p.Steps[0].ID, 999)},
		"agents_pipeline_id_fkey":     agent(new(int64(999)), nil),
		"agents_step_id_fkey":         agent(nil, new(int64(999))),
	} {
		if err := st.Commit(t.Context(), c); !violates(err, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
