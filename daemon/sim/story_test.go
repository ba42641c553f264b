package sim

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// story runs a world in which nothing goes wrong but what tell does, which is somebody's part in it. What holds of
// every run is checked here as well.
func story(t *testing.T, tell func(t *testing.T, p *person, h *host)) {
	t.Helper()
	storyOn(t, 1, tell)
}

// storyOn is a story with so many hosts; tell begins on the first.
func storyOn(t *testing.T, hosts int, tell func(t *testing.T, p *person, h *host)) {
	t.Helper()
	t.Parallel()
	root, err := os.MkdirTemp("", "story") // a shorter path than the test's own: it is part of what is typed
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(1, root)
		if err != nil {
			t.Fatal(err)
		}
		w.hosts = nil
		for range hosts {
			if err := w.addHost(); err != nil {
				t.Fatal(err)
			}
		}
		clear(w.plan.on)
		w.plan.until, w.calm = w.trace.began, w.trace.began
		w.live(func() {
			w.begin("story", func(p *person) { tell(t, p, w.hosts[0]) })
		})
		for _, f := range w.failures {
			t.Error(f)
		}
		if t.Failed() {
			for _, l := range w.trace.lines {
				if l.shown {
					t.Log(l)
				}
			}
		}
	})
	if err := os.RemoveAll(root); err != nil {
		t.Error(err)
	}
}

// start asks for an agent.
func (p *person) start(h *host) (id int64) {
	if err := p.ask(h, "start an agent", func(ctx context.Context, d *daemon.Daemon) error {
		a, err := d.CreateAgent(ctx, daemon.NewAgent{Persona: personaSlugs[0], Cwd: h.cwd, Runtime: "claude"})
		id = a.ID
		return err
	}); err != nil {
		p.w.fail("%v", err)
	}
	return id
}

// agent starts an agent and returns it once it has registered and is idle.
func (p *person) agent(h *host) *agent {
	id := p.start(h)
	p.await("its registration", time.Minute, func() bool {
		a, err := p.w.store.Agent(ctx(), id)
		return err == nil && a.RegisteredAt != nil && a.State == daemon.Idle
	})
	return p.w.of(id)
}

// delayFirst has the first call that is so take as long as do says.
func (p *person) delayFirst(is func(c *call) bool, do func() time.Duration) {
	p.w.delay = func(c *call) time.Duration {
		if !is(c) {
			return 0
		}
		p.w.delay = nil
		return do()
	}
}

// request asks for a handoff and waits until it is in a phase.
func (p *person) request(h *host, a *agent, until daemon.Phase) daemon.Handoff {
	p.requestHandoff(h, a, "")
	return p.reach(a, until)
}

// requestHandoff asks for a handoff, in a mode; "" is the usual one.
func (p *person) requestHandoff(h *host, a *agent, mode string) {
	if err := p.ask(h, "hand over", func(ctx context.Context, d *daemon.Daemon) error {
		_, err := d.RequestHandoff(ctx, a.id, daemon.HandoffRequest{Force: true, Mode: mode})
		return err
	}); err != nil {
		p.w.fail("%v", err)
	}
}

// asked waits until the daemon asks what shall become of an agent's handoff, because of work that no document mentions.
// The agent must not have been ended.
func (p *person) asked(a *agent, within time.Duration) {
	p.await("the daemon to ask", within, func() bool { return a.dead || p.handoffs(a.id)[0].Retryable() })
	if a.dead {
		p.w.fail("agent %d was ended with work that no document mentions", a.id)
	}
}

// goOn has the handoff that asks go on, to its end.
func (p *person) goOn(a *agent) {
	if err := p.retry(&p.handoffs(a.id)[0]); err != nil {
		p.w.fail("%v", err)
	}
	p.reach(a, daemon.Completed)
}

// stop tells an agent to exit.
func (p *person) stop(h *host, id int64, force bool) {
	if err := p.ask(h, "stop", func(ctx context.Context, d *daemon.Daemon) error {
		_, err := d.StopAgent(ctx, id, force)
		return err
	}); err != nil {
		p.w.fail("%v", err)
	}
}

// reopen opens the session of an agent that has ended.
func (p *person) reopen(h *host, id int64) (heir daemon.Agent) {
	if err := p.ask(h, "resume", func(ctx context.Context, d *daemon.Daemon) (err error) {
		heir, err = d.ResumeAgent(ctx, id)
		return err
	}); err != nil {
		p.w.fail("%v", err)
	}
	return heir
}

// end ends a host's daemon. The next one begins by itself.
func (p *person) end(h *host) {
	before := h.gen
	before.cancel(errStopped)
	p.await("the end of the daemon", time.Minute, func() bool { return h.gen != before })
}

// reach waits until the handoff of an agent is in a phase.
func (p *person) reach(a *agent, until daemon.Phase) (h daemon.Handoff) {
	if !p.await(string(until), 5*time.Minute, func() bool {
		h = p.handoffs(a.id)[0]
		return h.Phase == until
	}) {
		p.w.fail("handoff %d is %s, not %s", h.ID, h.Phase, until)
	}
	return h
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var told *daemon.Error
	if !errors.As(err, &told) || told.Code != code {
		t.Errorf("got %v, want the code %s", err, code)
	}
}

// TestOneHeir: when an agent has died and somebody has opened its session again, its handoff starts no successor
// beside that.
func TestOneHeir(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.think = time.Minute
		p.request(h, a, daemon.AwaitingDocument)
		a.signal(syscall.SIGKILL)
		failed := p.reach(a, daemon.Failed)
		if failed.Error.Code != "agent_gone" {
			t.Errorf("failed with %s", failed.Error.Code)
		}
		heir := p.reopen(h, a.id)
		wantCode(t, p.retry(&failed), "agent_resumed")
		p.stop(h, heir.ID, true)
		p.await("its end", time.Minute, func() bool { return p.w.of(heir.ID) == nil })
		p.wait("lets the daemon notice", 5*time.Second, 5*time.Second)
		if err := p.retry(&failed); err != nil { // there is no document: it fails again, as it should
			t.Error(err)
		}
		p.reach(a, daemon.Failed)
	})
}

// TestSleepCountsAgainstNothing: a machine that sleeps through a deadline fails nothing.
func TestSleepCountsAgainstNothing(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.think = time.Minute
		p.request(h, a, daemon.AwaitingDocument)
		h.asleep = time.Now().Add(time.Hour)
		h.nobody(h.asleep)
		p.w.calm = h.asleep
		p.wait("sleeps", time.Hour, time.Hour)
		if done := p.reach(a, daemon.Completed); done.Error != nil {
			t.Error(done.Error)
		}
	})
}

// TestWorkAfterSIGTERM: an agent that ignores the request to exit and SIGTERM, and is given work then, is not killed by
// its handoff.
func TestWorkAfterSIGTERM(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.ignoreTerm, a.mood.deaf = true, true
		p.request(h, a, daemon.ShuttingDown)
		p.await("SIGTERM", time.Minute, func() bool {
			row, err := p.w.store.Agent(ctx(), a.id)
			return err == nil && row.StopStage == daemon.StopTerm
		})
		a.person("one more thing", tmux.Enter)
		p.asked(a, time.Minute)
		a.mood.deaf = false
		p.goOn(a)
	})
}
