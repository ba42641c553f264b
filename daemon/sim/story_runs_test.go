package sim

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// run has a run made of a template.
func (p *person) run(h *host, template string) (id int64) {
	if err := p.ask(h, "make a run", func(ctx context.Context, d *daemon.Daemon) error {
		run, err := d.CreatePipeline(ctx, daemon.NewPipeline{Template: template, Title: "A run", Prompt: "Mend the roof", Cwd: h.cwd})
		id = run.ID
		return err
	}); err != nil {
		p.w.fail("%v", err)
	}
	return id
}

// reachRun waits until a run has a status.
func (p *person) reachRun(id int64, until daemon.PipelineStatus) (run daemon.Pipeline) {
	if !p.await(string(until), 10*time.Minute, func() bool {
		run, _ = p.w.store.Pipeline(ctx(), id)
		return run.Status == until
	}) {
		p.w.fail("run %d is %s (%s), not %s", id, run.Status, run.Note, until)
	}
	return run
}

// TestForgottenPrompt: an agent that forgets its step over a dialog, and is given something else to do by a person at
// once, is told its step before that counts as done: a rule of every run says so. The hook of what it was given may be lost.
func TestForgottenPrompt(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("hook lost: ", lost), func(t *testing.T) {
			story(t, func(_ *testing.T, p *person, h *host) {
				var a *agent
				p.w.born = func(born *agent) { a, born.mood.trust, born.mood.forgets = born, true, true }
				id := p.run(h, "one")
				p.await("the dialog", time.Minute, func() bool { return a != nil && a.dialog != nil })
				a.person("", tmux.Enter)
				p.await("its registration", time.Minute, func() bool { return a.ready })
				if lost {
					p.w.inject = func(c *call) fault {
						if c.kind == sending && isHook(c.own, hooks.UserPromptSubmit) {
							p.w.inject = nil
							return lostHook
						}
						return none
					}
				}
				a.person("something else first", tmux.Enter)
				p.reachRun(id, daemon.PipelineDone)
			})
		})
	}
}

// TestGate: a run that waits for an approval reminds people of it, takes it once, and is done after it.
func TestGate(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		id := p.run(h, "two")
		p.newest(id, 0)
		approve := func(ctx context.Context, d *daemon.Daemon) error {
			_, err := d.ApprovePipeline(ctx, id, daemon.Decision{})
			return err
		}
		wantCode(t, p.ask(h, "approve too early", approve), "not_waiting_for_approval")
		run := p.reachRun(id, daemon.PipelineWaiting)
		p.wait("is away", 100*time.Second, 100*time.Second)
		reminders := 0
		for _, e := range p.w.log() {
			if e.Type == "pipeline_approval_reminder" {
				reminders++
			}
		}
		if reminders != 2 {
			t.Errorf("%d reminders in 100 s, one each 40 s", reminders)
		}
		p.w.approved[run.Steps[1].ID] = true
		if err := p.ask(h, "approve", approve); err != nil {
			t.Error(err)
		}
		p.reachRun(id, daemon.PipelineDone)
		wantCode(t, p.ask(h, "resume what is done", func(ctx context.Context, d *daemon.Daemon) error {
			_, err := d.ResumePipeline(ctx, id, false)
			return err
		}), "pipeline_not_failed")
	})
}

// TestResumeGoesOnWithTheRecord: a run that was aborted while its agent was handed over goes on with the successor, when
// the document was recorded; whether the handoff has come to its end by then or not. Nobody retries it beside the run.
func TestResumeGoesOnWithTheRecord(t *testing.T) {
	for name, wait := range map[string]time.Duration{"at once": 0, "later": time.Minute} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, p *person, h *host) {
				p.w.born = func(a *agent) { a.mood.think = 5 * time.Second }
				id := p.run(h, "one")
				a := p.newest(id, 0)
				p.often("its turn", func() bool { return a.stop != nil })
				a.mood.deaf = true
				handoff := p.request(h, a, daemon.ShuttingDown)
				p.abort(h, id)
				p.wait("thinks", wait, wait)
				if wait > 0 {
					wantCode(t, p.retry(&handoff), "pipeline_failed")
				}
				run := p.reachRun(id, daemon.PipelineFailed)
				p.resume(&run, false)
				done := p.reachRun(id, daemon.PipelineDone)
				ids := done.Steps[0].AgentIDs
				if last, err := p.w.store.Agent(ctx(), ids[len(ids)-1]); err != nil || last.PreviousAgentID == nil || *last.PreviousAgentID != a.id {
					t.Errorf("agent %d ended the step, and is no successor of agent %d: %v", last.ID, a.id, err)
				}
				if got, err := p.w.store.Handoff(ctx(), handoff.ID); err != nil || got.Phase != daemon.Completed || len(ids) != 2 {
					t.Errorf("the handoff is %s, and the step had the agents %v: %v", got.Phase, ids, err)
				}
			})
		})
	}
}

// TestAbortEndsTheHandoff: with its step a handoff is cancelled that is not recorded: a rule of every run says so.
func TestAbortEndsTheHandoff(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.mood.think = time.Minute }
		id := p.run(h, "one")
		a := p.newest(id, 0)
		p.often("its turn", func() bool { return a.stop != nil })
		a.stop(errInterrupted)
		handoff := p.request(h, a, daemon.AwaitingDocument)
		p.abort(h, id)
		if got, err := p.w.store.Handoff(ctx(), handoff.ID); err != nil || got.Phase != daemon.Cancelled {
			t.Errorf("the handoff of an aborted run is %s: %v", got.Phase, err)
		}
	})
}
