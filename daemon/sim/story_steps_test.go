package sim

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// newest is the living process of the newest agent that works at a step.
func (p *person) newest(run int64, step int) (a *agent) {
	p.await("an agent of the step", 2*time.Minute, func() bool {
		stored, err := p.w.store.Pipeline(ctx(), run)
		if ids := stored.Steps[step].AgentIDs; err == nil && len(ids) > 0 {
			a = p.w.of(ids[len(ids)-1])
		}
		return a != nil && a.ready
	})
	if a == nil {
		p.w.fail("run %d has no agent at step %d", run, step+1)
	}
	return a
}

func (p *person) abort(h *host, run int64) {
	if err := p.ask(h, "abort", func(ctx context.Context, d *daemon.Daemon) error {
		_, err := d.AbortPipeline(ctx, run)
		return err
	}); err != nil {
		p.w.fail("%v", err)
	}
}

// often lets time pass in small steps until something is so.
func (p *person) often(what string, so func() bool) {
	for n := 0; !so(); n++ {
		if n > 100_000 {
			p.w.fail("waited in vain for %s", what)
			return
		}
		p.wait("awaits "+what, 10*time.Millisecond, 10*time.Millisecond)
	}
}

// TestStepFailures: a step fails with what has happened, in its time.
func TestStepFailures(t *testing.T) {
	for _, c := range []struct {
		code   string
		within time.Duration
		mood   func(a *agent)
	}{
		{"runtime_error", time.Minute, func(a *agent) { a.failing = true }},
		{"step_timeout", 3*time.Minute + 10*time.Second, func(a *agent) { a.mood.think = 100 * time.Hour }},
	} {
		t.Run(c.code, func(t *testing.T) {
			story(t, func(t *testing.T, p *person, h *host) {
				p.w.born = c.mood
				began := time.Now()
				failed := p.reachRun(p.run(h, "one"), daemon.PipelineFailed)
				if took := time.Since(began); failed.ErrorCode != c.code || took > c.within {
					t.Errorf("it failed with %s after %s", failed.ErrorCode, took)
				}
			})
		})
	}
}

// TestStopAfterTheEnd: the Stop of an agent that ended with its turn comes a moment after its end, and counts.
func TestStopAfterTheEnd(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		stopping := false
		p.w.delay = func(c *call) time.Duration {
			if c.what != "connects" || c.own.host == nil || !isHook(c.own, "Stop") {
				return 0
			}
			stopping = true
			return 400 * time.Millisecond
		}
		id := p.run(h, "one")
		a := p.newest(id, 0)
		p.often("its Stop", func() bool { return stopping })
		a.signal(syscall.SIGKILL)
		p.reachRun(id, daemon.PipelineDone)
	})
}

// TestStepHearsAll: a step ends when its agent has answered what it was sent, what was typed into its pane and what
// its background tasks have left, and an interrupted turn is no end.
func TestStepHearsAll(t *testing.T) {
	message := func(p *person, a *agent) { p.send(a.id) }
	for name, say := range map[string]func(p *person, a *agent){
		"a message":       message,
		"a queued prompt": func(_ *person, a *agent) { a.person("one more thing", tmux.Enter) },
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, p *person, h *host) {
				p.w.born = func(a *agent) { a.mood.think, a.mood.hands = 20*time.Second, 10*time.Millisecond }
				id := p.run(h, "one")
				a := p.newest(id, 0)
				p.often("its turn", func() bool { return a.stop != nil })
				say(p, a)
				done := p.reachRun(id, daemon.PipelineDone)
				if len(a.answers) != 2 || done.Steps[0].LatestHandoff.ContentMD != a.answers[1] {
					t.Errorf("it left %q, and has said %q", done.Steps[0].LatestHandoff.ContentMD, a.answers)
				}
			})
		})
	}
	t.Run("a background task", func(t *testing.T) {
		story(t, func(t *testing.T, p *person, h *host) {
			p.w.born = func(a *agent) { a.tasks = 1 }
			id := p.run(h, "one")
			a := p.newest(id, 0)
			p.await("its answer", time.Minute, func() bool { return len(a.answers) > 0 })
			p.wait("waits", 20*time.Second, 20*time.Second)
			if run, err := p.w.store.Pipeline(ctx(), id); err != nil || run.Status != daemon.PipelineRunning {
				t.Errorf("the run is %s while a task runs: %v", run.Status, err)
			}
			a.tasks--
			a.enqueue(job{prompt: "<task-notification>done</task-notification>", from: notification})
			p.reachRun(id, daemon.PipelineDone)
		})
	})
	t.Run("an interrupted turn", func(t *testing.T) {
		story(t, func(t *testing.T, p *person, h *host) {
			p.w.born = func(a *agent) { a.mood.think, a.mood.hands = 20*time.Second, 10*time.Millisecond }
			id := p.run(h, "one")
			a := p.newest(id, 0)
			p.often("its turn", func() bool { return a.stop != nil })
			message(p, a)
			p.often("the next turn", func() bool { return a.stop != nil && strings.HasPrefix(a.working, "Task") })
			a.person("", tmux.Escape)
			p.wait("waits", 30*time.Second, 30*time.Second)
			if run, err := p.w.store.Pipeline(ctx(), id); err != nil || run.Status != daemon.PipelineRunning || run.Note == "" {
				t.Errorf("the run is %s (%s) after its agent was interrupted: %v", run.Status, run.Note, err)
			}
			a.person("go on", tmux.Enter)
			p.reachRun(id, daemon.PipelineDone)
		})
	})
}

// TestForgottenPromptIsTypedOnce: an agent that forgets its step over a dialog is told it, and once; also one that takes
// it after all, while it is about to be typed: a rule of every run says so.
func TestForgottenPromptIsTypedOnce(t *testing.T) {
	forgetful := func(p *person, h *host) (int64, *agent) {
		p.w.born = func(a *agent) { a.mood.trust, a.mood.forgets = true, true }
		id := p.run(h, "one")
		var a *agent
		p.await("the dialog", time.Minute, func() bool {
			i := slices.IndexFunc(p.w.agents, func(a *agent) bool { return a.dialog != nil })
			if i >= 0 {
				a = p.w.agents[i]
			}
			return a != nil
		})
		a.person("", tmux.Enter)
		return id, a
	}
	t.Run("forgotten", func(t *testing.T) {
		story(t, func(_ *testing.T, p *person, h *host) {
			id, _ := forgetful(p, h)
			p.reachRun(id, daemon.PipelineDone)
		})
	})
	t.Run("taken after all", func(t *testing.T) {
		story(t, func(t *testing.T, p *person, h *host) {
			id, a := forgetful(p, h)
			typing := false
			p.w.delay = func(c *call) time.Duration {
				if !isCommit(c, " typing ") {
					return 0
				}
				p.w.delay, typing = nil, true
				return 5 * time.Second
			}
			p.often("the typing", func() bool { return typing })
			run, err := p.w.store.Pipeline(ctx(), id)
			if err != nil {
				t.Error(err)
			}
			a.given = append(a.given, run.Steps[0].Input)
			a.enqueue(job{prompt: run.Steps[0].Input})
			p.reachRun(id, daemon.PipelineDone)
		})
	})
}

// TestHandoffAsItsStepEnds: a handoff that is asked for in the moment in which the agent's step ends is refused, and not
// begun for an agent that is sent away: a rule of every run says so.
func TestHandoffAsItsStepEnds(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		ending := false
		p.w.delay = func(c *call) time.Duration {
			if !isCommit(c, "«step_done»") {
				return 0
			}
			p.w.delay, ending = nil, true
			return 150 * time.Millisecond
		}
		id := p.run(h, "one")
		a := p.newest(id, 0)
		p.often("the end of the step", func() bool { return ending })
		p.requestHandoff(h, a, "") // it was first: the step goes on with the successor
		a.mood.deaf = true
		p.reachRun(id, daemon.PipelineDone)
	})
}

// TestAgentOfAStepEnds: a step whose agent is killed in its turn fails soon, and says so.
func TestAgentOfAStepEnds(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.mood.think = time.Hour }
		id := p.run(h, "one")
		a := p.newest(id, 0)
		p.often("its turn", func() bool { return a.working != "" })
		a.signal(syscall.SIGKILL)
		began := time.Now()
		if failed := p.reachRun(id, daemon.PipelineFailed); failed.ErrorCode != "agent_gone" || time.Since(began) > 10*time.Second {
			t.Errorf("it failed with %s after %s", failed.ErrorCode, time.Since(began))
		}
	})
}
