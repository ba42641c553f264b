package sim

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// thinking has the agents that start from now on think for that long.
func thinking(p *person, long time.Duration) {
	p.w.born = func(a *agent) { a.mood.think = long }
}

// rename gives a file another name.
func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Error(err)
	}
}

// TestAbortBelowADialog: a dialog stands in the pane of a step's agent, and the operator is told. An abort answers it with No and ends the
// agent. It is no alert, and the agents of others work on. An agent in a turn is interrupted.
func TestAbortBelowADialog(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		thinking(p, time.Hour)
		other := p.startPipeline(h, "one")
		works := p.newest(other, 0)
		p.w.born = func(a *agent) { a.extra = func(ctx context.Context) bool { return a.permission(ctx) } }
		id := p.startPipeline(h, "four")
		a := p.newest(id, 0)
		p.await("the dialog", time.Minute, func() bool { return events(p, event.PipelineWaiting) == 1 })
		if pl := pipelineOf(p, id); !strings.Contains(pl.Note, "a dialog waits") || !eventsOf(p, event.PipelineWaiting)[0].Alert {
			t.Errorf("the pipeline says %q", pl.Note)
		}
		p.abort(h, id)
		wantCode(t, abort(p, h, id), daemon.CodePipelineEnded)
		p.await("its end", 30*time.Second, func() bool { return p.row(a).EndedAt != nil })
		pl := p.reachStatus(id, daemon.PipelineFailed)
		if len(a.answers) > 0 || p.row(works).StopAskedAt != nil || pl.Note != "" || *pl.Steps[0].Error != "Pipeline aborted" || !strings.Contains(pl.Hint, "understudy pipeline resume") || eventsOf(p, event.PipelineFailed)[0].Alert {
			t.Errorf("it said %q; the pipeline says %q, %q", a.answers, pl.Note, pl.Hint)
		}
		p.abort(h, other)
		p.await("the end of its turn", 10*time.Second, func() bool { return works.cut && p.row(works).EndedAt != nil })
	})
}

// TestSuccessorAtAStep: a person hands the agent of a step over. The step goes on with the successor, which is told its place, and its answer is
// the output. The prompt of the step is too long for a command line: it stays in a file that both may read.
func TestSuccessorAtAStep(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		thinking(p, 10*time.Second)
		prompt := strings.Repeat("Mend the roof\r\nand \"paint\" it: ünïcödé.\n", 5000)
		id := createPipeline(p, h, pipelines.NewPipeline{Template: "one", Prompt: prompt, Cwd: h.cwd})
		a := p.newest(id, 0)
		awaitTurn(p, a)
		p.requestHandoff(h, a, "")
		p.await("the note", time.Minute, func() bool {
			return strings.Contains(pipelineOf(p, id).Note, "agent 1 is being handed over (handoff 1)")
		})
		var task string
		p.w.born = func(next *agent) {
			p.w.born = nil
			next.extra = func(context.Context) bool {
				task = mustRead(h.dir.Launch(next.id) + "/task.md")
				if pl := pipelineOf(p, id); *pl.CurrentAgentID != next.id || !strings.Contains(next.skill, "What it was asked to do stands in "+h.dir.Launch(next.id)+"/task.md") {
					t.Errorf("agent %d works on the step; its successor was told %q", *pl.CurrentAgentID, next.skill)
				}
				return true
			}
		}
		pl := p.reachStatus(id, daemon.PipelineDone)
		if out := pl.Steps[0].LatestHandoff; task != prompt || !slices.Equal(pl.Steps[0].AgentIDs, []int64{1, 2}) || out.AgentID != 2 {
			t.Errorf("agents %v, the file has %d of %d bytes", pl.Steps[0].AgentIDs, len(task), len(prompt))
		}
	})
}

// TestRecordIsTakenUpOnce: no successor at a step can start. A resume goes on with the record of the handoff once; the next one begins the step
// anew, or it could never be done.
func TestRecordIsTakenUpOnce(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		thinking(p, 10*time.Second)
		id := p.startPipeline(h, "one")
		a := p.newest(id, 0)
		p.w.born = func(next *agent) {
			next.mood.start = 0
			p.w.employEndless("chance", func(p *person) { next.end("crashed", 1) })
		}
		handoff := p.request(h, a, daemon.Failed)
		pl := p.reachStatus(id, daemon.PipelineFailed)
		if !strings.Contains(*pl.Error, "handoff 1 failed in phase awaiting_registration") || !strings.Contains(pl.Hint, "goes on with what that recorded") {
			t.Errorf("it failed with %q: %s", *pl.Error, pl.Hint)
		}
		p.resume(&pl, false)
		p.await("the second successor", 2*time.Minute, func() bool {
			pl = pipelineOf(p, id)
			return !pl.Open() && len(pl.Steps[0].AgentIDs) == 3
		})
		wantCode(t, p.retry(&handoff), daemon.CodePipelineFailed)
		p.w.born = nil
		p.resume(&pl, false)
		pl = p.reachStatus(id, daemon.PipelineDone)
		if last := rowOf(p, pl.Steps[0].AgentIDs[3]); last.PreviousAgentID != nil || p.handoffs(a.id)[0].Phase != daemon.Failed {
			t.Errorf("agent %+v ended the step, after handoffs %+v", last, p.handoffs(a.id))
		}
	})
}

// TestNextStepFollowsItsPredecessor: the next step works where the session of the step before has moved. It ends nobody as long as its agent
// could not start.
func TestNextStepFollowsItsPredecessor(t *testing.T) {
	for _, gone := range []bool{false, true} {
		storyAs(t, map[bool]string{false: "to another directory", true: "when its directory is back"}[gone], func(t *testing.T, p *person, h *host) {
			dir := filepath.Join(h.cwd, "tree-0")
			p.w.born = func(a *agent) {
				p.w.born = nil
				a.extra = func(context.Context) bool {
					if gone {
						rename(t, h.cwd, h.cwd+".away")
						return true
					}
					worksIn(a, dir)
					return true
				}
			}
			id := p.startPipeline(h, "two")
			a := p.newest(id, 0)
			pl := p.reachStatus(id, daemon.PipelineWaiting)
			p.approve(&pl, h)
			if gone {
				pl = p.reachStatus(id, daemon.PipelineFailed)
				p.wait("looks on", 10*time.Second, 10*time.Second)
				if row := p.row(a); pl.ErrorCode != daemon.CodeAgentNotStartable || !strings.Contains(*pl.Error, "that directory is gone") || !row.Active() || row.StopAskedAt != nil {
					t.Errorf("it failed with %s: %s; agent %d is %s", pl.ErrorCode, *pl.Error, row.ID, row.State)
				}
				rename(t, h.cwd+".away", h.cwd)
				p.resume(&pl, false)
				p.reachStatus(id, daemon.PipelineDone)
				return
			}
			pl = p.reachStatus(id, daemon.PipelineDone)
			if second := rowOf(p, pl.Steps[1].AgentIDs[0]); second.Cwd != dir || !has(pl.Warnings, "moved to "+dir) {
				t.Errorf("the second step worked in %s: %q", second.Cwd, pl.Warnings)
			}
		})
	}
}

// TestInterruptedPipelineGoesOnOnce: the agent of a step ends with its tmux server while no daemon runs. If the settings say so, the next
// daemon begins the step again, and tells that. It does so once: then a person is asked. Every run checks both.
func TestInterruptedPipelineGoesOnOnce(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.resume = true
		thinking(p, 100*time.Second)
		p.end(h)
		id := p.startPipeline(h, "one")
		crash := func(agents int) {
			p.poll("its turn", func() bool { a := p.newest(id, 0); return a.stop != nil })
			p.w.delayFirst(calls("restarts "), func() time.Duration { h.term.die(); return time.Second })
			p.end(h)
			p.await("a pipeline that goes on, or does not", time.Minute, func() bool {
				pl := pipelineOf(p, id)
				return len(pl.Steps[0].AgentIDs) == agents && (agents == 2 || pl.Status == daemon.PipelineFailed)
			})
		}
		crash(2)
		crash(2)
		equal(t, "it was told … times that the pipeline goes on", events(p, event.PipelineWarning), 1)
	})
}

// TestResumeTakesUpALiveAgent: the agent of a step that has failed was not asked to stop. A resume goes on with it, and starts no other. Every
// run checks that.
func TestResumeTakesUpALiveAgent(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		id, a := atWork(p, h, time.Minute)
		pl := pipelineOf(p, id)
		why, now, s := "Failed by hand", time.Now(), &pl.Steps[0]
		pl.Status, pl.Error, pl.ErrorCode, pl.Hint, pl.FinishedAt = daemon.PipelineFailed, &why, daemon.CodeAgentNotStartable, why, &now
		s.Status, s.Error, s.FinishedAt = daemon.StepFailed, &why, &now
		p.w.ok(p.w.store.Commit(ctx(), &daemon.Change{PipelineMove: &daemon.PipelineMove{Pipeline: &pl, Steps: []*daemon.Step{s}}, Events: []*event.Event{
			{Type: event.PipelineFailed, PipelineID: &id, Alert: true, Payload: []byte(`{"status":"failed"}`)}, {Type: event.StepFailed, PipelineID: &id, StepID: &s.ID, Payload: []byte("{}")},
		}}))
		checkPipelines(p.w, nil, nil)
		p.resume(&pl, false)
		if pl = p.reachStatus(id, daemon.PipelineDone); !slices.Equal(pl.Steps[0].AgentIDs, []int64{a.id}) {
			t.Errorf("the step had the agents %v", pl.Steps[0].AgentIDs)
		}
	})
}
