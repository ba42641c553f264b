package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// TestDecisionsFromAnotherHost: what a person decides at another host's daemon counts, for the step that it is about. A rejected step fails
// with the comment, and a resume asks for its approval again. The pipeline's own host carries it out.
func TestDecisionsFromAnotherHost(t *testing.T) {
	storyOn(t, 2, func(t *testing.T, p *person, h *host) {
		far := p.w.hosts[1]
		id := p.startPipeline(h, "two")
		steps := p.reachStatus(id, daemon.PipelineWaiting).Steps
		for _, do := range []decision{(*pipelines.Room).ApprovePipeline, (*pipelines.Room).RejectPipeline} {
			wantCode(t, decide(p, far, id, do, pipelines.Decision{StepID: steps[0].ID}), "another_step")
		}
		p.w.ok(decide(p, far, id, (*pipelines.Room).RejectPipeline, pipelines.Decision{StepID: steps[1].ID, Comment: "the ladder is missing"}))
		pl := p.reachStatus(id, daemon.PipelineFailed)
		if pl.Error == nil {
			return
		}
		if s, want := pl.Steps[1], "Rejected: the ladder is missing"; *pl.Error != want || s.Status != daemon.StepFailed || *s.Error != want {
			t.Errorf("the pipeline failed with %q, its step is %s with %v", *pl.Error, s.Status, s.Error)
		}
		p.resume(&pl, false)
		if pl = p.reachStatus(id, daemon.PipelineWaiting); pl.Error != nil || pl.Steps[1].Error != nil || pl.Hint != "" {
			t.Errorf("resumed, it still says %v, %v and %q", pl.Error, pl.Steps[1].Error, pl.Hint)
		}
		p.w.approved[steps[1].ID] = true
		p.w.ok(decide(p, far, id, (*pipelines.Room).ApprovePipeline, pipelines.Decision{StepID: steps[1].ID, Comment: "mind the gutters"}))
		pl = p.reachStatus(id, daemon.PipelineDone)
		if in := pl.Steps[1].Input; !strings.HasSuffix(in, "\n\n[Approval note: mind the gutters]") {
			t.Errorf("the approved step was given %q", in)
		}
		for _, a := range p.w.agents {
			if a.h != h {
				t.Errorf("agent %d of the pipeline runs on %s", a.id, a.h.name)
			}
		}
	})
}

// TestNoRoom: a pipeline that finds no room waits and says so. One that is aborted at work makes room; one that is aborted while it waits holds
// up nobody and begins no step. A resumed one waits like any other. Every run checks that no host has more at work than it may.
func TestNoRoom(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.mood.think = 2 * time.Minute }
		var ids [maxRunning + 2]int64
		for i := range ids {
			ids[i] = p.startPipeline(h, "one")
		}
		first, gone, last := ids[0], ids[maxRunning], ids[maxRunning+1]
		waits := func(id int64) {
			t.Helper()
			if pl := p.reachStatus(id, daemon.PipelinePending); !strings.Contains(pl.Note, "pipeline.max_running") {
				t.Errorf("pipeline %d waits for room with the note %q", id, pl.Note)
			}
		}
		waits(gone)
		waits(last)
		p.newest(first, 0)
		p.abort(h, gone)
		p.abort(h, first)
		p.reachStatus(last, daemon.PipelineRunning)
		pl := p.reachStatus(first, daemon.PipelineFailed)
		p.resume(&pl, false)
		waits(first)
		p.reachStatus(last, daemon.PipelineDone)
		p.reachStatus(first, daemon.PipelineDone)
		if pl := p.reachStatus(gone, daemon.PipelineFailed); len(pl.Steps[0].AgentIDs) != 0 {
			t.Errorf("the pipeline that was aborted before its turn had the agents %v", pl.Steps[0].AgentIDs)
		}
	})
}

// TestAbortWhileATreeIsMade: nobody works in the tree of a pipeline that was aborted while it was made. It is removed, and its branch is free
// for another pipeline, and for this one when it is resumed.
func TestAbortWhileATreeIsMade(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		making := p.w.holdFirst(3*time.Second, calls("Make tree"))
		first := onBranch(p, h, "one", "roof")
		p.poll("the making", func() bool { return *making })
		p.abort(h, first)
		p.await("the tree to be removed", time.Minute, func() bool { return !p.w.treesOpen(h) && len(h.wood.trees) == 0 })
		p.reachStatus(onBranch(p, h, "one", "roof"), daemon.PipelineDone)
		pl := p.reachStatus(first, daemon.PipelineFailed)
		p.resume(&pl, false)
		p.reachStatus(first, daemon.PipelineDone)
	})
}
