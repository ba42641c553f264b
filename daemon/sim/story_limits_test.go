package sim

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// onLimit sets what the daemons do about limits, and has the next daemon begin with that.
func onLimit(p *person, h *host, do daemon.LimitAction) {
	p.w.limits = daemon.LimitSettings{OnLimit: do, MaxWaits: 2, APITimeout: 2 * time.Minute, Fallback: []string{fallback}}
	p.end(h)
	p.await("the next daemon", time.Minute, func() bool { return h.daemon != nil && h.daemon.listening })
}

// hits has the account of an agent reach a usage limit of about that long.
func hits(p *person, a *agent, lasts time.Duration) *limitHit {
	text, lasts := a.cli.limited(a, lasts)
	l := &limitHit{over: time.Now().Add(lasts), text: text}
	a.limits = append(a.limits, l)
	return l
}

// decided waits until something is decided about an agent's limit.
func decided(p *person, a *agent) (row daemon.Agent) {
	p.await("a decision about its limit", 10*time.Minute, func() bool {
		row = p.row(a)
		return row.State == daemon.Limited && row.Limit != nil && row.Limit.Do != daemon.LimitUndecided
	})
	return row
}

// TestWaitForTheReset: the runtime has five minutes after the reset to go on by itself. If it does not, the agent is prompted, once, also if
// the daemon ends meanwhile. Every run checks that it is not prompted twice, too early, or although it has gone on.
func TestWaitForTheReset(t *testing.T) {
	for name, c := range map[string]struct{ itself, ends bool }{
		"prompted": {}, "the daemon ends": {ends: true}, "by itself": {itself: true}, "by itself under no daemon": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, p *person, h *host) {
				onLimit(p, h, daemon.LimitWait)
				a := p.agent(h)
				l := hits(p, a, 2*time.Minute)
				a.person("some work", tmux.Enter)
				row := decided(p, a)
				if l := row.Limit; l.Kind != daemon.LimitUsage || l.Do != daemon.LimitWait || l.By != daemon.LimitByPolicy || row.LimitedUntil == nil || !l.Until.Equal(*row.LimitedUntil) {
					t.Errorf("limit %+v until %v", l, row.LimitedUntil)
				}
				if c.itself {
					p.w.employEndless("the runtime", func(*person) { resume(a, l, time.Until(row.LimitedUntil.Add(80*time.Second))) })
				}
				if c.ends {
					p.w.employEndless("somebody", func(p *person) {
						p.await("the reset", time.Hour, func() bool { return time.Now().After(l.over.Add(75 * time.Second)) })
						p.end(h)
					})
				}
				if !c.itself {
					p.await("the time in which the runtime may go on", time.Hour, func() bool { return time.Now().After(row.LimitedUntil.Add(4 * time.Minute)) })
					if n := p.w.goOns(a.id); n != 0 {
						t.Errorf("%d prompts before the runtime had its time to go on by itself", n)
					}
				}
				p.await("a good turn", 20*time.Minute, func() bool { row = p.row(a); return row.State == daemon.Idle && row.Limit == nil })
				p.wait("looks on", 8*time.Minute, 8*time.Minute)
				if n, want := p.w.goOns(a.id), map[bool]int{false: 1, true: 0}[c.itself]; n != want || row.Trouble != nil || row.LimitedUntil != nil {
					t.Errorf("prompted %d times, want %d; in trouble %+v", n, want, row.Trouble)
				}
			})
		})
	}
}

// TestWaitsAreCounted: each reset is followed by a limit. After max_waits a person is asked.
func TestWaitsAreCounted(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		onLimit(p, h, daemon.LimitWait)
		a := p.agent(h)
		hits(p, a, time.Minute)
		a.person("some work", tmux.Enter)
		for n := range 2 {
			decided(p, a)
			a.extra = func(context.Context) bool { hits(p, a, time.Minute); return true }
			p.await("the prompt", time.Hour, func() bool { return a.limits[n].goOns == 1 })
			p.poll("the next limit", func() bool { row := p.row(a); return row.State == daemon.Limited && row.Limit.Waits == n+1 })
		}
		if l := decided(p, a).Limit; l.Do != daemon.LimitAsk || l.Waits != 2 || !strings.Contains(l.Why, "2 times in a row") {
			t.Errorf("limit %+v, want a person asked after 2 waits", l)
		}
	})
}

// TestLimitedAgentThatDies: the agent dies while it waits for the reset. After the reset its session is opened again, once, and its first prompt
// has it go on.
func TestLimitedAgentThatDies(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		onLimit(p, h, daemon.LimitWait)
		a := p.agent(h)
		p.promptOnce(a)
		l := hits(p, a, 2*time.Minute)
		a.person("more work", tmux.Enter)
		decided(p, a)
		a.signal(syscall.SIGKILL)
		p.await("its end", time.Minute, func() bool { return p.row(a).EndedAt != nil })
		p.end(h)
		var next *agent
		p.await("the agent that goes on", 20*time.Minute, func() bool {
			if len(p.w.agents) > 1 {
				next = p.w.agents[1]
			}
			return next != nil && next.id != 0 && p.row(next).State == daemon.Idle && len(next.answers) == 1
		})
		if next == nil {
			return
		}
		if row := p.row(next); time.Now().Before(l.over) || row.PreviousAgentID == nil || *row.PreviousAgentID != a.id || *row.SessionID != *p.row(a).SessionID {
			t.Errorf("agent %+v goes on at %s, before %s", row, time.Now(), l.over)
		}
		p.end(h)
		p.wait("looks on", 2*time.Minute, 2*time.Minute)
		if n := len(p.w.agents); n != 2 {
			t.Errorf("%d agents were started", n)
		}
	})
}

// TestAPIThatFails: an API that fails for longer than api_timeout is a limit without an end. The agent tries again, until a person is asked.
func TestAPIThatFails(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		onLimit(p, h, daemon.LimitWait)
		a := p.agent(h)
		a.failing = true
		a.person("some work", tmux.Enter)
		p.await("its trouble", time.Minute, func() bool { return p.row(a).Trouble != nil })
		p.wait("looks on", 100*time.Second, 100*time.Second)
		if row := p.row(a); row.State != daemon.Idle || row.Limit != nil {
			t.Errorf("the agent is %s with limit %+v before api_timeout", row.State, row.Limit)
		}
		p.await("a question", time.Hour, func() bool { l := p.row(a).Limit; return l != nil && l.Do == daemon.LimitAsk })
		if l, n := p.row(a).Limit, p.w.goOns(a.id); l.Kind != daemon.LimitAPI || n != 2 {
			t.Errorf("limit %+v after %d tries, want 2", l, n)
		}
		a.failing = false
		message(p, h, a, "go on")
		p.await("a good turn", time.Minute, func() bool {
			row := p.row(a)
			return row.State == daemon.Idle && row.Limit == nil && row.Trouble == nil
		})
	})
}

// TestStepWaitsForAReset: the agent of a step waits for its reset for longer than the step may take. That time does not count.
func TestStepWaitsForAReset(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		onLimit(p, h, daemon.LimitWait)
		p.w.born = func(a *agent) { hits(p, a, 4*time.Minute) }
		id := p.startPipeline(h, "one")
		decided(p, p.newest(id, 0))
		p.wait("looks on", 10*time.Second, 10*time.Second)
		if pl, err := p.w.store.Pipeline(ctx(), id); err != nil || pl.Status != daemon.PipelineRunning || !strings.Contains(pl.Note, "has hit a usage limit until") {
			t.Errorf("the pipeline is %s (%s): %v", pl.Status, pl.Note, err)
		}
		p.reachStatus(id, daemon.PipelineDone)
	})
}
