package sim

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// unbriefedSuccessor hands over an agent, and returns the successor when a daemon is about to type the successor's
// injection prompt. The successor ignores /exit and SIGTERM.
func unbriefedSuccessor(p *person, h *host, a *agent) (next *agent) {
	a.mood.deaf = true
	p.request(h, a, daemon.ShuttingDown)
	told := p.w.holdFirst(5*time.Second, func(c *call) bool { return isCommit(c, "(prompt for agent") && isCommit(c, " typing ") })
	p.poll("the prompt", func() bool { return *told })
	next = p.w.process(*p.handoffs(a.id)[0].SuccessorID)
	next.mood.deaf, next.mood.ignoreTerm = true, true
	return next
}

// slowRead delays a read of an agent's row by who: the first one for which isTime is true. It calls then, if that is not
// nil, when the read begins, and sets *began.
func slowRead(p *person, who string, a *agent, by time.Duration, isTime func() bool, then func()) (began *bool) {
	began = new(bool)
	p.w.delayFirst(func(c *call) bool { return c.who == who && c.what == fmt.Sprint("agent ", a.id) && isTime() }, func() time.Duration {
		if *began = true; then != nil {
			then()
		}
		return by
	})
	return began
}

// TestRetryBesideTheSuccessor: a handoff failed because somebody stopped its successor. A retry starts another successor
// only when the first has ended.
func TestRetryBesideTheSuccessor(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		next := unbriefedSuccessor(p, h, a)
		p.stop(h, next.id, false)
		failed := p.reach(a, daemon.Failed)
		wantCode(t, p.retry(&failed), "agent_ending")
		p.awaitEnd(next)
		p.w.ok(p.retry(&failed))
		p.reach(a, daemon.Completed)
	}))
}

// abortedHandover aborts a pipeline before the successor at its step has its injection prompt. It returns the pipeline, its first agent, whose
// handoff has failed behind its record, and the successor.
func abortedHandover(p *person, h *host) (pl daemon.Pipeline, a, next *agent) {
	id, a := atWork(p, h, 5*time.Second)
	next = unbriefedSuccessor(p, h, a)
	p.abort(h, id)
	p.reach(a, daemon.Failed)
	return p.reachStatus(id, daemon.PipelineFailed), a, next
}

// TestResumeBesideTheSuccessor: a pipeline is aborted before the successor at its step has its injection prompt. When the
// pipeline is resumed, it goes on with another successor once the first has ended. Every run checks that.
func TestResumeBesideTheSuccessor(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		pl, a, next := abortedHandover(p, h)
		p.resume(&pl, false)
		equal(t, "the first successor ended before the pipeline was resumed", p.row(next).EndedAt != nil, false)
		done := p.reachStatus(pl.ID, daemon.PipelineDone)
		for _, l := range p.w.trace.lines {
			if strings.Contains(l.String(), "step begins anew") {
				t.Error(l)
			}
		}
		ids := done.Steps[0].AgentIDs
		last := rowOf(p, ids[len(ids)-1])
		if last.ID == next.id || last.PreviousAgentID == nil || *last.PreviousAgentID != a.id {
			t.Errorf("agent %d ended the step, but is not another successor of agent %d", last.ID, a.id)
		}
	})
}

// TestOutageWhileAStepIsTakenUp: the database does not answer one of the calls by which a pipeline goes on with the record of a handoff. The
// step does not begin anew.
func TestOutageWhileAStepIsTakenUp(t *testing.T) {
	var until time.Time // the step has been taken up
	reads := func(c *call) bool {
		return strings.HasPrefix(c.who, "pipeline ") && c.kind == reading && time.Now().Before(until)
	}
	atEach(t, failed, reads, func(t *testing.T, p *person, h *host, begin func()) {
		pl, a, next := abortedHandover(p, h)
		p.await("the end of the successor", 2*time.Minute, func() bool { return p.row(next).EndedAt != nil })
		begin()
		until = time.Now().Add(time.Second)
		p.resume(&pl, false)
		p.reachStatus(pl.ID, daemon.PipelineDone)
		equal(t, "the handoff is", p.handoffs(a.id)[0].Phase, daemon.Completed)
	})
}

// TestHandedOverWhileItIsLookedAt: a pipeline's lane reads its step before a handoff makes a successor, and the agent's row
// afterwards. It does not take the answer of the outgoing agent as the step's output.
func TestHandedOverWhileItIsLookedAt(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		id, a := begun(p, h, "one")
		ended := slowRead(p, fmt.Sprint("pipeline ", id), a, 5*time.Second, func() bool { return p.row(a).WorkStop > 0 }, nil)
		p.poll("the end of its turn", func() bool { return *ended })
		p.requestHandoff(h, a, "")
		looks := slowRead(p, fmt.Sprint("pipeline ", id), a, time.Minute, func() bool { return p.handoffs(a.id)[0].RecordedAt != nil }, nil)
		handed := p.reach(a, daemon.Completed)
		equal(t, "the lane read the agent's row during the handoff", *looks, true)
		if done := p.reachStatus(id, daemon.PipelineDone); done.Steps[0].LatestHandoff.AgentID != *handed.SuccessorID {
			t.Errorf("the step's output is that of agent %d, not of agent %d", done.Steps[0].LatestHandoff.AgentID, *handed.SuccessorID)
		}
	})
}

// TestHandedOverWhileItIsAborted: an abort reads the step before a handoff makes a successor. It still ends the successor.
// Every run checks that.
func TestHandedOverWhileItIsAborted(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		id, a := atWork(p, h, 5*time.Second)
		a.person("", tmux.Escape)
		a.mood.deaf = true
		p.request(h, a, daemon.ShuttingDown)
		aborts := slowRead(p, p.name, a, time.Second, func() bool { return true }, func() { a.signal(syscall.SIGKILL) })
		asked := 0
		if err := p.ask(h, "abort", func(ctx context.Context, d *house.House) error {
			asked++
			_, err := d.Pipelines.AbortPipeline(ctx, id)
			return err
		}); err != nil || asked != 1 {
			t.Errorf("asked %d times: %v", asked, err)
		}
		if handed := p.handoffs(a.id)[0]; !*aborts || handed.SuccessorID == nil {
			t.Error("the agent was not handed over during the abort")
		}
		p.reachStatus(id, daemon.PipelineFailed)
	})
}

// TestOneSuccessor: an agent has died, and somebody has resumed its session. A retry of the agent's handoff starts no
// successor beside the new agent.
func TestOneSuccessor(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.think = time.Minute
		p.request(h, a, daemon.AwaitingDocument)
		a.signal(syscall.SIGKILL)
		failed := failsBy(p, a, "agent_gone")
		next := p.reopen(h, a.id)
		wantCode(t, p.retry(&failed), "agent_resumed")
		p.stop(h, next.ID, true)
		p.await("its end", time.Minute, func() bool { return p.w.process(next.ID) == nil })
		p.wait("lets the daemon notice", 5*time.Second, 5*time.Second)
		if err := p.retry(&failed); err != nil { // the handoff fails again then, because there is no document
			t.Error(err)
		}
		p.reach(a, daemon.Failed)
	}))
}

// TestRetryBesideTheWriter: the document comes later than document_timeout, and somebody retries at once. The retry waits for the end of
// the turn that writes the document, and takes it: the agent is asked once.
func TestRetryBesideTheWriter(t *testing.T) {
	for name, slow := range map[string]func(p *person, a *agent, ctx context.Context) bool{
		"it writes for long": func(_ *person, a *agent, ctx context.Context) bool {
			return !a.doIn(ctx, "works long", 120*time.Second, 120*time.Second)
		},
		"it asks for a permission": func(p *person, a *agent, ctx context.Context) bool {
			p.w.employEndless("somebody", func(p *person) {
				p.wait("is away", 120*time.Second, 120*time.Second)
				a.person("", tmux.Enter)
			})
			return a.permission(ctx)
		},
	} {
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
			p.w.employEndless("somebody in a hurry", func(p *person) { p.hurry() })
			a := p.agent(h)
			p.promptOnce(a)
			a.extra = func(ctx context.Context) bool { return slow(p, a, ctx) }
			p.request(h, a, daemon.Completed)
			a.askedOnce(t)
		})
	}
}

// askedOnce checks that the agent was asked for a document once.
func (a *agent) askedOnce(t *testing.T) {
	asked := 0
	for _, text := range a.given {
		if strings.Contains(text, "/handoffs/") {
			asked++
		}
	}
	equal(t, "the agent was asked for the document … times", asked, 1)
}

// TestRetryBesideAQueuedInstruction: a person's prompt comes before the instruction, which the runtime queues, and the API refuses that
// prompt. No hook tells that the runtime then takes the instruction off its queue, and somebody retries at once: the agent is asked once.
func TestRetryBesideAQueuedInstruction(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.employEndless("somebody in a hurry", func(p *person) { p.hurry() })
		a := p.agent(h)
		p.promptOnce(a)
		beforeFirst(p.w, calls("Paste "), func() {
			a.failing = true
			a.extra = func(ctx context.Context) bool { return !a.doIn(ctx, "works", time.Second, time.Second) } // the instruction is behind it
			a.person("one more thing", tmux.Enter)
			p.w.employEndless("chance", func(p *person) {
				p.poll("the API to refuse the prompt", func() bool { return p.row(a).TurnError != "" })
				a.failing = false
				a.extra = func(ctx context.Context) bool { return !a.doIn(ctx, "works", 10*time.Second, 10*time.Second) }
			})
		})
		p.request(h, a, daemon.Completed)
		a.askedOnce(t)
	})
}

// TestGoOnIsTakenWithoutAHook: the hook of the prompt after a limit is lost. The transcript has the prompt, so nobody is asked about the
// limit. Every run checks that.
func TestGoOnIsTakenWithoutAHook(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.limits.OnLimit = daemon.LimitWait
		p.end(h)
		a := p.agent(h)
		hits(a, 2*time.Minute)
		a.person("some work", tmux.Enter)
		p.await("the limit", time.Minute, func() bool { return p.row(a).State == daemon.Limited })
		p.loseHooks(hooks.UserPromptSubmit)
		a.extra = func(ctx context.Context) bool { return !a.doIn(ctx, "works long", 20*time.Second, 20*time.Second) }
		p.await("the prompt", 15*time.Minute, func() bool { return p.w.goOns(a.id) == 1 && a.stop != nil })
		p.await("the end of the limit", time.Minute, func() bool { return p.row(a).State == daemon.Idle && p.row(a).Limit == nil })
	})
}
