package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// forgetful creates a pipeline whose agent hangs when it is typed the prompt of its step, and forgets what was typed. It returns both when the
// agent goes on, and nobody knows whether it has the prompt.
func forgetful(p *person, h *host) (id int64, a *agent) {
	p.w.born = func(born *agent) { a = born }
	id = p.startPipeline(h, "one")
	p.await("its registration", time.Minute, func() bool { return a != nil && a.ready })
	a.frozen = time.Now().Add(time.Hour)
	p.await("the verdict", 2*settings().Handoff.AckTimeout, func() bool {
		list := deliveries(p.w, a.id)
		return len(list) == 1 && list[0].Has(daemon.Unconfirmed)
	})
	a.inputs, a.frozen = nil, time.Time{}
	return id, a
}

// TestForgottenPrompt: an agent forgets what it was typed of its step, and a person prompts it at once. The daemon types
// the step's prompt before the step can end, even if the hook of the person's prompt is lost. Every run checks that.
func TestForgottenPrompt(t *testing.T) {
	for _, lost := range []bool{false, true} {
		storyAs(t, fmt.Sprint("hook lost: ", lost), func(_ *testing.T, p *person, h *host) {
			id, a := forgetful(p, h)
			if lost {
				p.w.failFirst(lostHook, 1, func(c *call) bool { return c.kind == sending && isHook(c.own, hooks.UserPromptSubmit) })
			}
			a.person("something else first", tmux.Enter)
			p.reachStatus(id, daemon.PipelineDone)
		})
	}
}

// TestForgottenPromptIsNotTaken: the same, and the turn of the person's prompt may leave a task in the background that runs for ever. The
// daemon types the step's prompt beside the task. If it cannot before the time of the step is over, or has typed it and does not know yet
// whether it was taken, the step has failed: what the agent said to the person is no output of it. Every run checks that.
func TestForgottenPromptIsNotTaken(t *testing.T) {
	for name, c := range map[string]struct {
		task   bool
		typing time.Duration // from when on the daemon can type; the step has three minutes
	}{
		"beside a task": {task: true}, "beside a task, too late": {task: true, typing: time.Hour}, "too late": {typing: time.Hour},
		"beside a task, just typed": {task: true, typing: 175 * time.Second}, "just typed": {typing: 175 * time.Second},
	} {
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
			began := time.Now()
			id, a := forgetful(p, h)
			if c.task {
				a.extra = func(context.Context) bool { a.tasks++; return true }
			}
			a.person("something else first", tmux.Enter)
			p.w.inject = func(call *call) fault {
				switch late := time.Since(began) >= c.typing; {
				case !isCommit(call, " typing "):
				case !late:
					return failed
				case c.typing != 0:
					a.frozen = time.Now().Add(time.Hour)
				}
				return none
			}
			want := daemon.PipelineDone
			if c.typing != 0 {
				want = daemon.PipelineFailed
			}
			pl := p.reachStatus(id, want)
			p.w.inject = nil
			if c.typing != 0 && (pl.Error == nil || !strings.Contains(*pl.Error, "timed out")) {
				t.Errorf("the pipeline has failed otherwise: %+v", pl.Steps[0])
			}
		})
	}
}

// TestGate: a pipeline that waits for approval reminds the operator, can be approved once, and goes on then.
func TestGate(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		id := p.startPipeline(h, "two")
		p.newest(id, 0)
		approve := func() error { return decide(p, h, id, (*pipelines.Room).ApprovePipeline, pipelines.Decision{}) }
		wantCode(t, approve(), "not_waiting_for_approval")
		pl := p.reachStatus(id, daemon.PipelineWaiting)
		p.wait("is away", 50*time.Second, 50*time.Second)
		p.end(h) // a restart brings no reminder
		p.wait("is away", 48*time.Second, 48*time.Second)
		equal(t, "reminders in 100 s, want one each 40 s", events(p, event.PipelineApprovalReminder), 2)
		p.w.approved[pl.Steps[1].ID] = true
		p.w.ok(approve())
		p.reachStatus(id, daemon.PipelineDone)
		wantCode(t, resumePipeline(p, h, id, false), "pipeline_not_failed")
	})
}

// TestResumeGoesOnWithTheRecord: a pipeline is aborted during a handoff of its agent whose document is recorded. When the
// pipeline is resumed, it goes on with the successor, whether the handoff has ended by then or not. Meanwhile nobody can
// retry the handoff itself.
func TestResumeGoesOnWithTheRecord(t *testing.T) {
	for name, wait := range map[string]time.Duration{"at once": 0, "later": time.Minute} {
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
			id, a := atWork(p, h, 5*time.Second)
			a.mood.deaf = true
			handoff := p.request(h, a, daemon.ShuttingDown)
			p.abort(h, id)
			p.wait("thinks", wait, wait)
			if wait > 0 {
				wantCode(t, p.retry(&handoff), "pipeline_failed")
			}
			pl := p.reachStatus(id, daemon.PipelineFailed)
			p.resume(&pl, false)
			done := p.reachStatus(id, daemon.PipelineDone)
			ids := done.Steps[0].AgentIDs
			if last := rowOf(p, ids[len(ids)-1]); last.PreviousAgentID == nil || *last.PreviousAgentID != a.id {
				t.Errorf("agent %d ended the step, but is not a successor of agent %d", last.ID, a.id)
			}
			if got, err := p.w.store.Handoff(ctx(), handoff.ID); err != nil || got.Phase != daemon.Completed || len(ids) != 2 {
				t.Errorf("the handoff is %s, and the step had the agents %v: %v", got.Phase, ids, err)
			}
		})
	}
}

// TestAbortEndsTheHandoff: an abort cancels a handoff of the step's agent that is not recorded yet. Every run checks that.
func TestAbortEndsTheHandoff(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		id, a := atWork(p, h, time.Minute)
		a.stop(errInterrupted)
		handoff := p.request(h, a, daemon.AwaitingDocument)
		p.abort(h, id)
		if got, err := p.w.store.Handoff(ctx(), handoff.ID); err != nil || got.Phase != daemon.Cancelled {
			t.Errorf("the handoff of an aborted pipeline is %s: %v", got.Phase, err)
		}
	})
}

// TestRetryAsTheStepFails: the step of a failed handoff fails while somebody retries the handoff, before each of the retry's calls.
// Every run checks that the handoff is not open then.
func TestRetryAsTheStepFails(t *testing.T) {
	for n := range 6 {
		storyAs(t, fmt.Sprint("before call ", n+1), func(t *testing.T, p *person, h *host) {
			id, a := atWork(p, h, time.Minute)
			a.mood.think = time.Hour
			handoff := p.request(h, a, daemon.Failed)
			made := 0
			delayed := p.w.holdFirst(5*time.Second, func(c *call) bool {
				if c.who == p.name {
					made++
				}
				return made == n+1
			})
			p.w.employEndless("somebody else", func(other *person) {
				other.poll("the retry", func() bool { return *delayed })
				other.abort(h, id)
			})
			_ = p.retry(&handoff) // it is refused, or the abort cancels the handoff
			if !*delayed {
				t.Error("the retry has fewer calls")
			}
		})
	}
}

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
			equal(t, fmt.Sprintf("host of agent %d", a.id), a.h.name, h.name)
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

const (
	sentBack = "Looked.\n\n## Way\n\nway 0" // what sends the work back
	content  = "Looked.\n\n## Way\n\nway 1"
	reviewed = "- agent: developer-con-1\n- agent: developer-kim-2\n  next: {when: \"Way: way 0\", goto: 1}\n  max_rounds: 2\n- agent: developer-ada-3\n"
)

// rounds are the steps of a pipeline: number in the template, round and status of each.
func rounds(pl daemon.Pipeline) string {
	var all []string
	for _, s := range pl.Steps {
		all = append(all, fmt.Sprintf("%d.%d %s", s.Number, s.Round, s.Status))
	}
	return strings.Join(all, ", ")
}

// TestRoundPastTheBound: a review sends the work back for as many rounds as it may. A person decides about a further one: approves it, or
// rejects it and goes on without it. Every run checks where each output leads.
func TestRoundPastTheBound(t *testing.T) {
	const twice = "1.1 done, 2.1 done, 1.2 done, 2.2 done, "
	for name, end := range map[string]string{"approved": "1.3 done, 2.3 done, 3.1 done", "skipped": "1.3 skipped, 2.3 skipped, 3.1 done"} {
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
			writeTemplate(p, h, "reviewed", reviewed)
			says(p, "Mended.", sentBack, "Mended.", sentBack, "Mended.", content, "Fine.")
			id := p.startPipeline(h, "reviewed")
			pl := p.reachStatus(id, daemon.PipelineWaiting)
			asks := eventsOf(p, event.PipelineWaitingForApproval)
			if rounds(pl) != twice+"1.3 pending, 2.3 pending, 3.1 pending" || len(asks) != 1 || !strings.Contains(word(&asks[0], "message"), "step 4 (developer-kim-2) has sent the work back in round 2 of at most 2") || !has(pl.Warnings, "its max_rounds is 2") {
				t.Errorf("%s: %q", rounds(pl), pl.Warnings)
			}
			if name == "approved" {
				p.approve(&pl, h)
			} else {
				p.w.ok(decide(p, h, id, (*pipelines.Room).RejectPipeline, pipelines.Decision{}))
				pl = p.reachStatus(id, daemon.PipelineFailed)
				p.resume(&pl, true)
			}
			if pl = p.reachStatus(id, daemon.PipelineDone); rounds(pl) != twice+end || pl.Steps[6].CameFrom == nil || len(eventsOf(p, event.StepRouted)) != 2 {
				t.Errorf("%s", rounds(pl))
			}
		})
	}
}

// TestWayThatAPersonChooses: an output does not say which step comes next. Nothing begins, and a person chooses: back, with a comment for the
// agent there, or on. The choice cannot be skipped, and a rejection leaves it to be made.
func TestWayThatAPersonChooses(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		writeTemplate(p, h, "reviewed", reviewed)
		says(p, "Mended.", "I would mend more.", "Mended.", "## Way", "Fine.")
		id := p.startPipeline(h, "reviewed")
		choose := func(in pipelines.Decision) error { return decide(p, h, id, (*pipelines.Room).ApprovePipeline, in) }
		pl := p.reachStatus(id, daemon.PipelineWaiting)
		if said := word(&eventsOf(p, event.PipelineWaitingForApproval)[0], "message"); pl.Steps[1].Undecided != daemon.UndecidedMissing || !strings.Contains(said, "has left no heading Way") || !strings.Contains(said, "I would mend more") || !strings.Contains(said, "`--goto 1`") {
			t.Errorf("undecided: %q, asked %q", pl.Steps[1].Undecided, said)
		}
		wantCode(t, choose(pipelines.Decision{StepID: pl.Steps[2].ID}), daemon.CodeAnotherStep)
		wantCode(t, choose(pipelines.Decision{Goto: 4}), daemon.CodeBadGoto)
		p.w.chosen[pl.Steps[1].ID] = true
		p.w.ok(choose(pipelines.Decision{StepID: pl.Steps[1].ID, Goto: 1, Comment: "mend the gutters"}))
		p.await("the second question", time.Minute, func() bool { return events(p, event.PipelineWaitingForApproval) == 2 })
		if pl = p.reachStatus(id, daemon.PipelineWaiting); rounds(pl) != "1.1 done, 2.1 done, 1.2 done, 2.2 done, 3.1 pending" || !strings.HasSuffix(pl.Steps[2].Input, "\n\n[Approval note: mend the gutters]") {
			t.Errorf("%s; told %q", rounds(pl), pl.Steps[2].Input)
		}
		p.w.ok(decide(p, h, id, (*pipelines.Room).RejectPipeline, pipelines.Decision{}))
		wantCode(t, resumePipeline(p, h, id, true), daemon.CodeStepUndecided)
		pl = p.reachStatus(id, daemon.PipelineFailed)
		p.resume(&pl, false)
		pl = p.reachStatus(id, daemon.PipelineWaiting)
		p.approve(&pl, h)
		p.reachStatus(id, daemon.PipelineDone)
	})
}
