package db

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/db/dbtest"
)

// aRun is a run of host h1 that is pending, with steps that are, too.
func aRun(t testing.TB, db *DB, steps int) *daemon.Pipeline {
	t.Helper()
	p := &daemon.Pipeline{
		ID: nextOf(t, db, daemon.PipelineIDs), Title: "t", Template: "quick_fix", Host: "h1", Status: daemon.PipelinePending,
		Warnings: []string{}, CreatedAt: now(), UpdatedAt: now(), Steps: []daemon.Step{},
	}
	for i := range steps {
		p.Steps = append(p.Steps, daemon.Step{
			ID: nextOf(t, db, daemon.StepIDs), PipelineID: p.ID, OrderIndex: i, AgentName: "developer",
			Status: daemon.StepPending, AgentIDs: []int64{},
		})
	}
	return p
}

func newRun(t testing.TB, db *DB, steps int, change func(*daemon.Pipeline)) *daemon.Pipeline {
	t.Helper()
	p := aRun(t, db, steps)
	if change != nil {
		change(p)
	}
	commit(t, db, &daemon.Change{NewPipeline: p})
	return p
}

// to returns a change of a run's status, for newRun.
func to(status daemon.PipelineStatus) func(*daemon.Pipeline) {
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

// newWorker commits an agent that works for a step.
func newWorker(t testing.TB, db *DB, p *daemon.Pipeline, step int) *daemon.Agent {
	t.Helper()
	return newAgent(t, db, func(a *daemon.Agent) { a.PipelineID, a.StepID = &p.ID, &p.Steps[step].ID })
}

// runOf returns a run as it is stored.
func runOf(t testing.TB, db *DB, id int64) *daemon.Pipeline {
	t.Helper()
	p, err := db.Pipeline(t.Context(), id)
	return ptr(must(t, p, err))
}

// wholeRun is a run in which no field of what is written is empty.
func wholeRun(t testing.TB, db *DB) *daemon.Pipeline {
	t.Helper()
	var p daemon.Pipeline
	fill(reflect.ValueOf(&p).Elem())
	p.ID, p.Status, p.CurrentAgentID = nextOf(t, db, daemon.PipelineIDs), daemon.PipelineFailed, nil
	for i := range p.Steps {
		s := &p.Steps[i]
		s.ID, s.PipelineID, s.OrderIndex = nextOf(t, db, daemon.StepIDs), p.ID, i
		s.Status, s.AgentIDs, s.LatestHandoff = daemon.StepFailed, []int64{}, nil
	}
	return &p
}

// wholeOutput is what a step leaves, with no field empty.
func wholeOutput(t testing.TB, db *DB, stepID, agentID int64) *daemon.StepHandoff {
	t.Helper()
	var o daemon.StepHandoff
	fill(reflect.ValueOf(&o).Elem())
	o.ID, o.StepID, o.AgentID = nextOf(t, db, daemon.OutputIDs), stepID, agentID
	return &o
}

func TestRunIsKeptWhole(t *testing.T) {
	t.Parallel()
	db := open(t)
	p := wholeRun(t, db)
	commit(t, db, &daemon.Change{NewPipeline: p})
	equal(t, "inserted", runOf(t, db, p.ID), p)

	next := wholeRun(t, db)
	next.ID, next.Seq, next.Status = p.ID, p.Seq, daemon.PipelineFailed
	var steps []*daemon.Step
	for i := range next.Steps {
		next.Steps[i].ID, next.Steps[i].PipelineID = p.Steps[i].ID, p.ID
		steps = append(steps, &next.Steps[i])
	}
	next.Steps[0].Status, next.Steps[1].Status = daemon.StepSkipped, daemon.StepRunning
	commit(t, db, &daemon.Change{Run: &daemon.RunMove{Pipeline: next, Steps: steps}})
	if next.Seq != p.Seq+1 {
		t.Errorf("seq %d, want %d", next.Seq, p.Seq+1)
	}
	equal(t, "updated", runOf(t, db, p.ID), next)

	one, two, three := newWorker(t, db, next, 1), newWorker(t, db, next, 0), newWorker(t, db, next, 1)
	o := wholeOutput(t, db, next.Steps[0].ID, two.ID)
	commit(t, db, &daemon.Change{NewOutput: o})
	next.Steps[0].AgentIDs, next.Steps[1].AgentIDs = []int64{two.ID}, []int64{one.ID, three.ID}
	next.Steps[0].LatestHandoff, next.CurrentAgentID = o, &three.ID
	equal(t, "with what is derived", runOf(t, db, p.ID), next)
	next.Steps[1].Status, next.CurrentAgentID = daemon.StepFailed, nil
	commit(t, db, &daemon.Change{Run: &daemon.RunMove{Pipeline: next, Steps: steps}})
	equal(t, "after the step", runOf(t, db, p.ID), next)

	bare := newRun(t, db, 1, func(p *daemon.Pipeline) { p.Warnings = nil })
	o = &daemon.StepHandoff{ID: nextOf(t, db, daemon.OutputIDs), StepID: bare.Steps[0].ID, AgentID: one.ID, CreatedAt: now()}
	commit(t, db, &daemon.Change{NewOutput: o})
	bare.Warnings, bare.Steps[0].LatestHandoff = []string{}, o
	equal(t, "bare", runOf(t, db, bare.ID), bare)
	empty := newRun(t, db, 0, nil)
	equal(t, "without steps", runOf(t, db, empty.ID), empty)
	if _, err := db.Pipeline(t.Context(), 999); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("unknown run: %v", err)
	}
}

// TestMetadataIsStoredWithoutNulls reads the column as it is, for those who query it themselves.
func TestMetadataIsStoredWithoutNulls(t *testing.T) {
	t.Parallel()
	db := open(t)
	p := newRun(t, db, 2, nil)
	a := newWorker(t, db, p, 0)
	for i, tt := range []struct {
		metadata *daemon.Structured
		want     *string
	}{
		{&daemon.Structured{DecisionsMade: ptr("null")}, ptr(`{"decisions_made": "null"}`)},
		{nil, nil},
	} {
		o := wholeOutput(t, db, p.Steps[i].ID, a.ID)
		o.Metadata = tt.metadata
		commit(t, db, &daemon.Change{NewOutput: o})
		var got *string
		if err := db.pool.QueryRow(t.Context(), "SELECT metadata::text FROM step_handoffs WHERE id = $1", o.ID).Scan(&got); err != nil {
			t.Fatal(err)
		}
		equal(t, "metadata", got, tt.want)
		equal(t, "read", runOf(t, db, p.ID).Steps[i].LatestHandoff, o)
	}
}

func TestRunsKeepStrangeBytes(t *testing.T) {
	t.Parallel()
	db := open(t)
	const nul, kept = "a\x00\xff", "a\uFFFD\uFFFD"
	spoil := func(p *daemon.Pipeline) {
		p.Title, p.Template, p.Prompt, p.Branch, p.Hint, p.Note, p.Warnings = nul, nul, nul, ptr(nul), nul, nul, []string{nul}
		s := &p.Steps[0]
		s.AgentName, s.Persona, s.Skill, s.Prompt, s.Error, s.Input, s.Comment = nul, ptr(nul), nul, nul, ptr(nul), nul, nul
	}
	p := newRun(t, db, 1, spoil)
	commit(t, db, &daemon.Change{Run: &daemon.RunMove{Pipeline: p, Steps: []*daemon.Step{&p.Steps[0]}}})
	o := wholeOutput(t, db, p.Steps[0].ID, newWorker(t, db, p, 0).ID)
	o.ContentMD, o.Metadata = nul, &daemon.Structured{WhatWasDone: ptr("a\x00")}
	commit(t, db, &daemon.Change{NewOutput: o})
	got := runOf(t, db, p.ID)
	s := got.Steps[0]
	for i, text := range []string{
		got.Title, got.Template, got.Prompt, *got.Branch, got.Hint, got.Note, got.Warnings[0], s.AgentName, *s.Persona, s.Skill,
		s.Prompt, *s.Error, s.Input, s.Comment, s.LatestHandoff.ContentMD, *s.LatestHandoff.Metadata.WhatWasDone + "\uFFFD",
	} {
		if text != kept && text != "a\uFFFD" { // bytes in a row become one character
			t.Errorf("text %d became %q", i, text)
		}
	}
}

func TestListOfRuns(t *testing.T) {
	t.Parallel()
	db := open(t)
	one := newRun(t, db, 2, nil)
	two := newRun(t, db, 1, to(daemon.PipelineDone))
	three := newRun(t, db, 0, func(p *daemon.Pipeline) { p.Host, p.Template = "h2", "full_feature" })
	four := newRun(t, db, 1, to(daemon.PipelineFailed))
	five := newRun(t, db, 1, to(daemon.PipelineWaiting))
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
		runs, err := db.Pipelines(t.Context(), tt.filter)
		ids := []int64{}
		for _, p := range must(t, runs, err) {
			ids = append(ids, p.ID)
			equal(t, name, &p, runOf(t, db, p.ID))
		}
		equal(t, name, ids, tt.want)
		if runs == nil {
			t.Errorf("%s: the list is nil", name)
		}
	}
	for host, want := range map[string][]int64{"h1": {one.ID, five.ID}, "h2": {three.ID}, "h3": {}} {
		ids, err := db.OpenPipelines(t.Context(), host)
		equal(t, "open runs of "+host, must(t, ids, err), want)
	}
}

// selects counts the SELECTs that a connection sends.
type selects struct{ n atomic.Int64 }

func (s *selects) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.HasPrefix(q.SQL, "SELECT") {
		s.n.Add(1)
	}
	return ctx
}

func (s *selects) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestListOfRunsIsTwoStatements(t *testing.T) {
	t.Parallel()
	var sent selects
	db, err := Open(t.Context(), Config{
		ConnString: dbtest.New(t, Migrate),
		Configure:  func(c *pgx.ConnConfig) { c.Tracer = &sent },
	})
	must(t, db, err)
	t.Cleanup(db.Close)
	for range 5 {
		newWorker(t, db, newRun(t, db, 3, nil), 1)
	}
	sent.n.Store(0)
	runs, err := db.Pipelines(t.Context(), daemon.PipelineFilter{})
	if n := sent.n.Load(); len(must(t, runs, err)) != 5 || n != 2 {
		t.Errorf("%d runs by %d statements, want 5 by 2", len(runs), n)
	}
}

// TestReadersSeeNoRunHalfWritten has a run and its step change together while both are read.
func TestReadersSeeNoRunHalfWritten(t *testing.T) {
	t.Parallel()
	db := open(t)
	p := newRun(t, db, 1, nil)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range 300 {
			p.Note, p.Steps[0].Comment = fmt.Sprint(i), fmt.Sprint(i)
			if err := db.Commit(t.Context(), &daemon.Change{Run: &daemon.RunMove{Pipeline: p, Steps: []*daemon.Step{&p.Steps[0]}}}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				got, err := db.Pipeline(t.Context(), p.ID)
				if err != nil || got.Note != got.Steps[0].Comment {
					t.Errorf("a run at %q, its step at %q, %v", got.Note, got.Steps[0].Comment, err)
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

// TestOpenPipelinesOfManyPending: of those that are pending only the oldest can be admitted.
func TestOpenPipelinesOfManyPending(t *testing.T) {
	t.Parallel()
	db := open(t)
	pending := to(daemon.PipelinePending)
	newRun(t, db, 1, to(daemon.PipelineDone))
	first := newRun(t, db, 1, pending)
	running := newRun(t, db, 1, to(daemon.PipelineRunning))
	last := newRun(t, db, 1, pending)
	ids, err := db.OpenPipelines(t.Context(), "h1")
	equal(t, "open runs", must(t, ids, err), []int64{first.ID, running.ID})
	places, err := db.PipelinePlaces(t.Context(), "h1")
	equal(t, "places", must(t, places, err), []daemon.PipelinePlace{
		{ID: first.ID, WorkDir: first.WorkDir}, {ID: running.ID, WorkDir: running.WorkDir}, {ID: last.ID, WorkDir: last.WorkDir},
	})
}
