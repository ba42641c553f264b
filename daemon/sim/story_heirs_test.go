package sim

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// unbriefed has an agent handed over until its successor is about to be told what it takes over, and returns that. It
// does not leave when it is asked to.
func (p *person) unbriefed(h *host, a *agent) (next *agent) {
	a.mood.deaf = true
	p.request(h, a, daemon.ShuttingDown)
	told := false
	p.w.delay = func(c *call) time.Duration {
		if !isCommit(c, "(prompt for agent") || !isCommit(c, " typing ") {
			return 0
		}
		p.w.delay, told = nil, true
		return 5 * time.Second
	}
	p.often("the prompt", func() bool { return told })
	next = p.w.of(*p.handoffs(a.id)[0].SuccessorID)
	next.mood.deaf, next.mood.ignoreTerm = true, true
	return next
}

// slowRead has the next read of an agent's row by somebody take so much longer, once it is time for that. then, if it is
// given, happens as the read begins.
func (p *person) slowRead(who string, a *agent, by time.Duration, isTime func() bool, then func()) (began *bool) {
	began = new(bool)
	p.w.delay = func(c *call) time.Duration {
		if c.who != who || c.what != fmt.Sprint("Agent ", a.id) || !isTime() {
			return 0
		}
		p.w.delay, *began = nil, true
		if then != nil {
			then()
		}
		return by
	}
	return began
}

// TestRetryBesideTheSuccessor: a handoff that failed because its successor was told to stop starts no other one before
// that is gone.
func TestRetryBesideTheSuccessor(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		next := p.unbriefed(h, a)
		p.stop(h, next.id, false)
		failed := p.reach(a, daemon.Failed)
		wantCode(t, p.retry(&failed), "agent_ending")
		p.await("its end", time.Minute, func() bool { return p.row(next).EndedAt != nil })
		if err := p.retry(&failed); err != nil {
			t.Error(err)
		}
		p.reach(a, daemon.Completed)
	})
}

// TestResumeBesideTheSuccessor: a run that was aborted while the successor at its step was to be told what it takes over
// goes on with another one once that is gone: a rule of every run says so.
func TestResumeBesideTheSuccessor(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.mood.think = 5 * time.Second }
		id := p.run(h, "one")
		a := p.newest(id, 0)
		p.often("its turn", func() bool { return a.stop != nil })
		next := p.unbriefed(h, a)
		p.abort(h, id)
		p.reach(a, daemon.Failed)
		run := p.reachRun(id, daemon.PipelineFailed)
		p.resume(&run, false)
		if p.row(next).EndedAt != nil {
			t.Error("the first successor was gone before the run was resumed")
		}
		done := p.reachRun(id, daemon.PipelineDone)
		for _, l := range p.w.trace.lines {
			if strings.Contains(l.String(), "step begins anew") {
				t.Error(l)
			}
		}
		ids := done.Steps[0].AgentIDs
		last, err := p.w.store.Agent(ctx(), ids[len(ids)-1])
		if err != nil || last.ID == next.id || last.PreviousAgentID == nil || *last.PreviousAgentID != a.id {
			t.Errorf("agent %d ended the step, and is no other successor of agent %d: %v", last.ID, a.id, err)
		}
	})
}

// TestHandedOverWhileItIsLookedAt: a run that has read its step before a handoff made a successor, and the agent's row
// after it, does not take the answer of the agent that is gone.
func TestHandedOverWhileItIsLookedAt(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		id := p.run(h, "one")
		a := p.newest(id, 0)
		ended := p.slowRead(fmt.Sprint("pipeline ", id), a, 5*time.Second, func() bool { return p.row(a).WorkStop > 0 }, nil)
		p.often("the end of its turn", func() bool { return *ended })
		p.requestHandoff(h, a, "")
		looks := p.slowRead(fmt.Sprint("pipeline ", id), a, time.Minute, func() bool { return p.handoffs(a.id)[0].RecordedAt != nil }, nil)
		handed := p.reach(a, daemon.Completed)
		if !*looks {
			t.Error("nobody looked at the step while its agent was handed over")
		}
		if done := p.reachRun(id, daemon.PipelineDone); done.Steps[0].LatestHandoff.AgentID != *handed.SuccessorID {
			t.Errorf("the step ended with what agent %d had said, not agent %d", done.Steps[0].LatestHandoff.AgentID, *handed.SuccessorID)
		}
	})
}

// TestHandedOverWhileItIsAborted: an abort that has read the step before a handoff made a successor sends that one away:
// a rule of every run says so.
func TestHandedOverWhileItIsAborted(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.mood.think = 5 * time.Second }
		id := p.run(h, "one")
		a := p.newest(id, 0)
		p.often("its turn", func() bool { return a.stop != nil })
		a.person("", tmux.Escape)
		a.mood.deaf = true
		p.request(h, a, daemon.ShuttingDown)
		aborts := p.slowRead(p.name, a, time.Second, func() bool { return true }, func() { a.signal(syscall.SIGKILL) })
		asked := 0
		if err := p.ask(h, "abort", func(ctx context.Context, d *daemon.Daemon) error {
			asked++
			_, err := d.AbortPipeline(ctx, id)
			return err
		}); err != nil || asked != 1 {
			t.Errorf("asked %d times: %v", asked, err)
		}
		if handed := p.handoffs(a.id)[0]; !*aborts || handed.SuccessorID == nil {
			t.Error("the agent was not handed over while the run was aborted")
		}
		p.reachRun(id, daemon.PipelineFailed)
	})
}
