package db

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// ranTo returns a copy of p in another status, with all its steps, as a change.
func ranTo(p *daemon.Pipeline, status daemon.PipelineStatus) *daemon.Change {
	next := *p
	next.Steps = slices.Clone(p.Steps)
	to(status)(&next)
	m := &daemon.RunMove{Pipeline: &next}
	for i := range next.Steps {
		m.Steps = append(m.Steps, &next.Steps[i])
	}
	return &daemon.Change{Run: m}
}

func TestOneOfManyWritersOfARunWins(t *testing.T) {
	t.Parallel()
	db := open(t)
	p := newRun(t, db, 1, nil)
	var wg sync.WaitGroup
	var won atomic.Int64
	for i := range 16 {
		c := ranTo(p, daemon.PipelineRunning)
		c.Run.Steps[0].Input = fmt.Sprint(i)
		c.Events = []*daemon.Event{{Type: "t", Host: "h1"}}
		wg.Go(func() {
			err := db.Commit(t.Context(), c)
			if err == nil {
				won.Add(1)
				equal(t, "step", runOf(t, db, p.ID).Steps[0].Input, fmt.Sprint(i))
			} else if !errors.Is(err, daemon.ErrMoved) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || rowCount(t, db, "events") != 1 {
		t.Errorf("%d won, %d events", won.Load(), rowCount(t, db, "events"))
	}
}

// TestMovedRunLeavesNothing lets each guard in turn meet a row that is not as it was read.
func TestMovedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	p, other := newRun(t, db, 2, to(daemon.PipelineRunning)), newRun(t, db, 1, nil)
	a := newWorker(t, db, p, 0)
	p = runOf(t, db, p.ID)
	rows := func() [6]int {
		return [6]int{
			rowCount(t, db, "pipelines"), rowCount(t, db, "steps"), rowCount(t, db, "step_handoffs"), rowCount(t, db, "agents"),
			rowCount(t, db, "deliveries"), rowCount(t, db, "events"),
		}
	}
	change := func() *daemon.Change {
		c := ranTo(p, daemon.PipelineWaiting)
		c.Run.Pipeline.Note, c.Run.Steps[0].Comment, c.Run.Steps[1].Comment = "changed", "changed", "changed"
		agent := *a
		agent.Cwd = "/changed"
		c.Agents = []*daemon.Agent{&agent}
		c.NewAgent = &daemon.Agent{
			ID: nextOf(t, db, daemon.AgentIDs), Host: "h1", State: daemon.Starting, TmuxSession: "new",
			PipelineID: &p.ID, StepID: &p.Steps[1].ID,
		}
		c.NewDeliveries = []*daemon.Delivery{aDelivery(t, db, a.ID)}
		c.NewPipeline = aRun(t, db, 2)
		c.NewOutput = wholeOutput(t, db, p.Steps[0].ID, c.NewAgent.ID)
		c.Events = []*daemon.Event{{Type: "t", Host: "h1"}}
		return c
	}
	for name, spoil := range map[string]func(*daemon.Change){
		"seq":            func(c *daemon.Change) { c.Run.Pipeline.Seq++ },
		"no run":         func(c *daemon.Change) { c.Run.Pipeline.ID = 999 },
		"no step":        func(c *daemon.Change) { c.Run.Steps[1].ID = 999 },
		"another's step": func(c *daemon.Change) { c.Run.Steps[1].ID = other.Steps[0].ID },
		"agent":          func(c *daemon.Change) { c.Agents[0].Rev++ },
	} {
		before, c := rows(), change()
		spoil(c)
		seq := c.Run.Pipeline.Seq
		if err := db.Commit(t.Context(), c); !errors.Is(err, daemon.ErrMoved) {
			t.Errorf("%s: %v, want ErrMoved", name, err)
		}
		equal(t, name+": rows", rows(), before)
		equal(t, name+": run", runOf(t, db, p.ID), p)
		equal(t, name+": other run", runOf(t, db, other.ID), other)
		if c.Run.Pipeline.Seq != seq || c.Events[0].ID != 0 {
			t.Errorf("%s: the change's rows were advanced", name)
		}
	}
	commit(t, db, change()) // unspoilt it goes through
	equal(t, "rows of a commit", rows(), [6]int{3, 5, 1, 2, 1, 1})
}

func TestAStepLeavesOneOutput(t *testing.T) {
	t.Parallel()
	db := open(t)
	p := newRun(t, db, 2, to(daemon.PipelineRunning))
	a := newWorker(t, db, p, 0)
	o := wholeOutput(t, db, p.Steps[0].ID, a.ID)
	commit(t, db, &daemon.Change{NewOutput: o})
	before := runOf(t, db, p.ID)
	c := ranTo(p, daemon.PipelineDone)
	c.NewOutput = wholeOutput(t, db, p.Steps[0].ID, a.ID)
	c.Events = []*daemon.Event{{Type: "t", Host: "h1"}}
	if err := db.Commit(t.Context(), c); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("second output: %v, want ErrMoved", err)
	}
	equal(t, "run", runOf(t, db, p.ID), before)
	equal(t, "events", rowCount(t, db, "events"), 0)
	c.NewOutput.StepID = p.Steps[1].ID
	commit(t, db, c)
}

// TestTheNextStepBeginsAsOneEnds names the steps in the order in which the index of the running step
// would refuse them.
func TestTheNextStepBeginsAsOneEnds(t *testing.T) {
	t.Parallel()
	db := open(t)
	p := newRun(t, db, 2, func(p *daemon.Pipeline) {
		to(daemon.PipelineRunning)(p)
		p.Steps[0].Status = daemon.StepRunning
	})
	c := ranTo(p, daemon.PipelineRunning)
	c.Run.Steps[0].Status, c.Run.Steps[1].Status = daemon.StepDone, daemon.StepRunning
	slices.Reverse(c.Run.Steps)
	order := slices.Clone(c.Run.Steps)
	commit(t, db, c)
	equal(t, "the caller's list", c.Run.Steps, order)
	got := runOf(t, db, p.ID)
	equal(t, "steps", []daemon.StepStatus{got.Steps[0].Status, got.Steps[1].Status}, []daemon.StepStatus{daemon.StepDone, daemon.StepRunning})
}

func TestConstraintsKeepNonsenseOutOfRuns(t *testing.T) {
	t.Parallel()
	db := open(t)
	p := newRun(t, db, 2, nil)
	run := func(change func(*daemon.Pipeline)) *daemon.Change {
		q := aRun(t, db, 2)
		change(q)
		return &daemon.Change{NewPipeline: q}
	}
	agent := func(pipelineID, stepID *int64) *daemon.Change {
		return &daemon.Change{NewAgent: &daemon.Agent{
			ID: nextOf(t, db, daemon.AgentIDs), State: daemon.Idle, PipelineID: pipelineID, StepID: stepID,
		}}
	}
	for name, c := range map[string]*daemon.Change{
		"pipelines_status_known": run(func(p *daemon.Pipeline) { p.Status = "broken" }),
		"pipelines_failed":       run(func(p *daemon.Pipeline) { p.Error = ptr("e") }),
		"pipelines_finished":     run(func(p *daemon.Pipeline) { p.Status = daemon.PipelineDone }),
		"pipelines_pkey":         run(func(q *daemon.Pipeline) { q.ID = p.ID }),
		"steps_status_known":     run(func(p *daemon.Pipeline) { p.Steps[1].Status = "broken" }),
		"steps_order":            run(func(p *daemon.Pipeline) { p.Steps[1].OrderIndex = 0 }),
		"steps_one_running": run(func(p *daemon.Pipeline) {
			p.Steps[0].Status, p.Steps[1].Status = daemon.StepRunning, daemon.StepRunning
		}),
		"step_handoffs_step_id_fkey":  {NewOutput: wholeOutput(t, db, 999, newAgent(t, db, nil).ID)},
		"step_handoffs_agent_id_fkey": {NewOutput: wholeOutput(t, db, p.Steps[0].ID, 999)},
		"agents_pipeline_id_fkey":     agent(ptr(int64(999)), nil),
		"agents_step_id_fkey":         agent(nil, ptr(int64(999))),
	} {
		if err := db.Commit(t.Context(), c); !violates(err, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunsWakeTheirHost(t *testing.T) {
	t.Parallel()
	db := open(t)
	foreign := aRun(t, db, 1)
	foreign.Host = "h 2"
	p := aRun(t, db, 1)
	wakes, _ := listening(t, db)
	equal(t, "first wake", wait(t, "first wake", wakes), int64(0))
	commit(t, db, &daemon.Change{NewPipeline: foreign})
	stale := ranTo(foreign, daemon.PipelineRunning)
	stale.Run.Pipeline.Seq++
	if err := db.Commit(t.Context(), stale); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("stale: %v", err)
	}
	commit(t, db, &daemon.Change{NewPipeline: p})
	equal(t, "new run", wait(t, "wake for a new run", wakes), -p.ID)
	commit(t, db, ranTo(p, daemon.PipelineRunning))
	equal(t, "run", wait(t, "wake for a run", wakes), -p.ID)
	a := newWorker(t, db, p, 0)
	equal(t, "agent", wait(t, "wake for its agent", wakes), a.ID)
	if len(wakes) != 0 {
		t.Errorf("%d wakes too many, the first for %d", len(wakes), <-wakes)
	}
}

// TestRunWritersDoNotDeadlock has changes of runs and of their agents, and hooks, write the same rows.
func TestRunWritersDoNotDeadlock(t *testing.T) {
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
		c := &daemon.Change{Events: []*daemon.Event{{Type: "t", Host: "h1"}}}
		if rand.IntN(3) > 0 {
			c.Run = &daemon.RunMove{Pipeline: &p, Steps: []*daemon.Step{&p.Steps[0]}}
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
				ID: id, Host: "h1", State: daemon.Ended, EndedAt: ptr(now()), PreviousAgentID: &a.ID, TmuxSession: fmt.Sprint(id),
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
