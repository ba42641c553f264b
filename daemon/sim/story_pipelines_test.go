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

// forgetful creates a pipeline whose agent forgets the prompt of its step for a dialog, which a person answers. It returns both when the agent is
// ready.
func forgetful(p *person, h *host) (id int64, a *agent) {
	p.w.born = func(born *agent) { a, born.mood.trust, born.mood.forgets = born, true, true }
	id = p.startPipeline(h, "one")
	p.await("the dialog", time.Minute, func() bool { return a != nil && a.dialog != nil })
	a.person("", tmux.Enter)
	p.poll("its registration", func() bool { return a.ready })
	return id, a
}

// TestForgottenPrompt: a dialog makes an agent forget its step's prompt, and a person prompts it at once. The daemon types
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
			calls, delayed := 0, false
			p.w.delay = func(c *call) time.Duration {
				if c.who != p.name {
					return 0
				}
				if calls++; calls != n+1 {
					return 0
				}
				delayed = true
				return 5 * time.Second
			}
			p.w.employEndless("somebody else", func(other *person) {
				other.poll("the retry", func() bool { return delayed })
				other.abort(h, id)
			})
			_ = p.retry(&handoff) // it is refused, or the abort cancels the handoff
			if !delayed {
				t.Error("the retry has fewer calls")
			}
		})
	}
}
