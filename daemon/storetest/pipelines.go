package storetest

import (
	"errors"
	"fmt"
	"reflect"
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
			p.FinishedAt = ptr(now())
		}
		if status == daemon.PipelineFailed {
			p.Error = ptr("it broke")
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
	return ptr(p)
}

// wholePipeline returns a pipeline in which no field that a store writes is empty, not committed.
func wholePipeline(t testing.TB, st daemon.Store) *daemon.Pipeline {
	t.Helper()
	var p daemon.Pipeline
	fill(reflect.ValueOf(&p).Elem())
	p.ID, p.Status, p.CurrentAgentID = nextOf(t, st, daemon.PipelineIDs), daemon.PipelineFailed, nil
	for i := range p.Steps {
		s := &p.Steps[i]
		s.ID, s.PipelineID, s.OrderIndex = nextOf(t, st, daemon.StepIDs), p.ID, i
		s.Status, s.AgentIDs, s.LatestHandoff = daemon.StepFailed, []int64{}, nil
		if s.CameFrom = nil; i > 0 {
			s.CameFrom = ptr(p.Steps[i-1].ID)
		}
	}
	return &p
}

// WholeOutput returns the output of a step in which no field is empty, not committed.
func WholeOutput(t testing.TB, st daemon.Store, stepID, agentID int64) *daemon.StepHandoff {
	t.Helper()
	var o daemon.StepHandoff
	fill(reflect.ValueOf(&o).Elem())
	o.ID, o.StepID, o.AgentID = nextOf(t, st, daemon.OutputIDs), stepID, agentID
	return &o
}

func pipelineIsKeptWhole(t *testing.T, st daemon.Store) {
	p := wholePipeline(t, st)
	Commit(t, st, &daemon.Change{NewPipeline: p})
	equal(t, "inserted", PipelineOf(t, st, p.ID), p)

	next := wholePipeline(t, st)
	next.ID, next.Seq, next.Status = p.ID, p.Seq, daemon.PipelineFailed
	var steps []*daemon.Step
	for i := range next.Steps {
		next.Steps[i].ID, next.Steps[i].PipelineID, next.Steps[i].CameFrom = p.Steps[i].ID, p.ID, p.Steps[i].CameFrom
		steps = append(steps, &next.Steps[i])
	}
	next.Steps[0].Status, next.Steps[1].Status = daemon.StepSkipped, daemon.StepRunning
	Commit(t, st, &daemon.Change{PipelineMove: &daemon.PipelineMove{Pipeline: next, Steps: steps}})
	if next.Seq != p.Seq+1 {
		t.Errorf("seq %d, want %d", next.Seq, p.Seq+1)
	}
	equal(t, "updated", PipelineOf(t, st, p.ID), next)

	one, two, three := NewWorker(t, st, next, 1), NewWorker(t, st, next, 0), NewWorker(t, st, next, 1)
	o := WholeOutput(t, st, next.Steps[0].ID, two.ID)
	var rec daemon.StepRecord
	fill(reflect.ValueOf(&rec).Elem())
	Commit(t, st, &daemon.Change{NewOutput: o, NewStepRecord: &rec})
	equal(t, "the large part", result(st.StepRecord(t.Context(), o.ID))(t), rec)
	if _, err := st.StepRecord(t.Context(), 999); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("the large part of an unknown output: %v", err)
	}
	next.Steps[0].AgentIDs, next.Steps[1].AgentIDs = []int64{two.ID}, []int64{one.ID, three.ID}
	next.Steps[0].LatestHandoff, next.CurrentAgentID = o, &three.ID
	equal(t, "with the derived fields", PipelineOf(t, st, p.ID), next)
	next.Steps[1].Status, next.CurrentAgentID = daemon.StepFailed, nil
	Commit(t, st, &daemon.Change{PipelineMove: &daemon.PipelineMove{Pipeline: next, Steps: steps}})
	equal(t, "after the step", PipelineOf(t, st, p.ID), next)

	bare := NewPipeline(t, st, 1, func(p *daemon.Pipeline) { p.Warnings = nil })
	o = &daemon.StepHandoff{ID: nextOf(t, st, daemon.OutputIDs), StepID: bare.Steps[0].ID, AgentID: one.ID, CreatedAt: now()}
	Commit(t, st, &daemon.Change{NewOutput: o})
	o.Warnings = []string{}
	bare.Warnings, bare.Steps[0].LatestHandoff = []string{}, o
	equal(t, "bare", PipelineOf(t, st, bare.ID), bare)
	empty := NewPipeline(t, st, 0, nil)
	equal(t, "without steps", PipelineOf(t, st, empty.ID), empty)
	if _, err := st.Pipeline(t.Context(), 999); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("unknown pipeline: %v", err)
	}
}

func pipelinesKeepStrangeBytes(t *testing.T, st daemon.Store) {
	const nul, kept = "a\x00\xff", "a\uFFFD\uFFFD"
	spoil := func(p *daemon.Pipeline) {
		p.Title, p.Template, p.Prompt, p.Branch, p.Hint, p.Note, p.Warnings = nul, nul, nul, ptr(nul), nul, nul, []string{nul}
		s := &p.Steps[0]
		s.AgentName, s.Persona, s.Skill, s.Prompt, s.Error, s.Input, s.Comment = nul, ptr(nul), nul, nul, ptr(nul), nul, nul
	}
	p := NewPipeline(t, st, 1, spoil)
	Commit(t, st, &daemon.Change{PipelineMove: &daemon.PipelineMove{Pipeline: p, Steps: []*daemon.Step{&p.Steps[0]}}})
	o := WholeOutput(t, st, p.Steps[0].ID, NewWorker(t, st, p, 0).ID)
	o.ContentMD, o.Metadata = nul, &daemon.Metadata{WhatWasDone: ptr("a\x00")}
	Commit(t, st, &daemon.Change{NewOutput: o})
	got := PipelineOf(t, st, p.ID)
	s := got.Steps[0]
	for i, text := range []string{
		got.Title, got.Template, got.Prompt, *got.Branch, got.Hint, got.Note, got.Warnings[0], s.AgentName, *s.Persona, s.Skill,
		s.Prompt, *s.Error, s.Input, s.Comment, s.LatestHandoff.ContentMD, *s.LatestHandoff.Metadata.WhatWasDone + "\uFFFD",
	} {
		if text != kept && text != "a\uFFFD" { // adjacent bad bytes may become one character
			t.Errorf("text %d became %q", i, text)
		}
	}
}

func listOfPipelines(t *testing.T, st daemon.Store) {
	one := NewPipeline(t, st, 2, nil)
	two := NewPipeline(t, st, 1, InStatus(daemon.PipelineDone))
	three := NewPipeline(t, st, 0, func(p *daemon.Pipeline) { p.Host, p.Template = "h2", "full_feature" })
	four := NewPipeline(t, st, 1, InStatus(daemon.PipelineFailed))
	five := NewPipeline(t, st, 1, InStatus(daemon.PipelineWaiting))
	for name, tt := range map[string]struct {
		filter daemon.PipelineFilter
		want   []int64
	}{
		"all":      {daemon.PipelineFilter{}, []int64{five.ID, four.ID, three.ID, two.ID, one.ID}},
		"status":   {daemon.PipelineFilter{Status: daemon.PipelineDone}, []int64{two.ID}},
		"template": {daemon.PipelineFilter{Template: "full_feature"}, []int64{three.ID}},
		"host":     {daemon.PipelineFilter{Host: "h2"}, []int64{three.ID}},
		"open":     {daemon.PipelineFilter{Open: true}, []int64{five.ID, three.ID, one.ID}},
		"before":   {daemon.PipelineFilter{Before: three.ID}, []int64{two.ID, one.ID}},
		"limit":    {daemon.PipelineFilter{Limit: 1}, []int64{five.ID}},
		"none":     {daemon.PipelineFilter{Template: "x\x00"}, []int64{}},
	} {
		pipelines := result(st.Pipelines(t.Context(), tt.filter))(t)
		for _, p := range pipelines {
			equal(t, name, &p, PipelineOf(t, st, p.ID))
		}
		equal(t, name, idsOf(pipelines), tt.want)
		if pipelines == nil {
			t.Errorf("%s: the list is nil", name)
		}
	}
	for host, want := range map[string][]int64{"h1": {one.ID, five.ID}, "h2": {three.ID}, "h3": {}} {
		equal(t, "open pipelines of "+host, result(st.Open(t.Context(), host))(t).Pipelines, want)
	}
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

// openPipelinesOfManyPending: of the pending pipelines the store lists the oldest alone, because only that one can
// be admitted.
func openPipelinesOfManyPending(t *testing.T, st daemon.Store) {
	pending := InStatus(daemon.PipelinePending)
	NewPipeline(t, st, 1, InStatus(daemon.PipelineDone))
	first := NewPipeline(t, st, 1, pending)
	running := NewPipeline(t, st, 1, InStatus(daemon.PipelineRunning))
	last := NewPipeline(t, st, 1, pending)
	equal(t, "open pipelines", result(st.Open(t.Context(), "h1"))(t).Pipelines, []int64{first.ID, running.ID})
	equal(t, "places", result(st.PipelinePlaces(t.Context(), "h1"))(t), []daemon.PipelinePlace{
		{ID: first.ID, WorkDir: first.WorkDir}, {ID: running.ID, WorkDir: running.WorkDir}, {ID: last.ID, WorkDir: last.WorkDir},
	})
}
