package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/tmux"
)

// story runs a world in which tell is the only person, and in which nothing goes wrong except by tell. The checks of every
// run hold in a story too; many stories have no checks of their own.
func story(t *testing.T, tell func(t *testing.T, p *person, h *host)) {
	t.Helper()
	storyOn(t, 1, tell)
}

// storyOn is a story with several hosts; tell gets the first.
func storyOn(t *testing.T, hosts int, tell func(t *testing.T, p *person, h *host)) {
	t.Helper()
	t.Parallel()
	tellOnce(t, hosts, tell)
}

// tellOnce tells a story, while the test waits.
func tellOnce(t *testing.T, hosts int, tell func(t *testing.T, p *person, h *host)) {
	t.Helper()
	root := must(os.MkdirTemp("", "s")) // shorter than t.TempDir(): the path is part of typed texts, which must stay short
	synctest.Test(t, func(t *testing.T) {
		w := must(newWorld(1, root))
		w.hosts = nil
		for range hosts {
			w.ok(w.addHost())
		}
		clear(w.plan.on)
		w.limits, w.background = daemon.DefaultLimits, daemon.BackgroundWarn
		w.plan.until, w.calm = w.trace.began, w.trace.began
		w.live(func() {
			w.employ("story", func(p *person) {
				p.tells = true
				tell(t, p, w.hosts[0])
			})
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

// storyAs is a story that is one of several in a test.
func storyAs(t *testing.T, name string, tell func(t *testing.T, p *person, h *host)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { story(t, tell) })
}

// with begins a story with an agent that is idle.
func with(tell func(t *testing.T, p *person, h *host, a *agent)) func(t *testing.T, p *person, h *host) {
	return func(t *testing.T, p *person, h *host) { tell(t, p, h, p.agent(h)) }
}

// withWorked begins a story with an agent that has done a turn, so that its session has a conversation.
func withWorked(tell func(t *testing.T, p *person, h *host, a *agent)) func(t *testing.T, p *person, h *host) {
	return func(t *testing.T, p *person, h *host) { tell(t, p, h, startWorked(p, h)) }
}

// withOn begins a story with an agent on a runtime that is idle.
func withOn(runtime string, tell func(t *testing.T, p *person, h *host, a *agent)) func(t *testing.T, p *person, h *host) {
	return func(t *testing.T, p *person, h *host) { tell(t, p, h, agentOn(p, h, runtime)) }
}

// atEach tells a story once for each call that is accepts after the story has called begin: a fault meets the first of them, then the second,
// until a story has no further one. Under the race detector it leaves out every other one.
func atEach(t *testing.T, how fault, is func(c *call) bool, tell func(t *testing.T, p *person, h *host, begin func())) {
	t.Helper()
	t.Run(string(how), func(t *testing.T) {
		t.Parallel()
		for at, met := 1, true; met && !t.Failed(); at += max(1, slower/6) {
			met = false
			t.Run(fmt.Sprint("call ", at), func(t *testing.T) {
				tellOnce(t, 1, func(t *testing.T, p *person, h *host) {
					tell(t, p, h, func() {
						n := 0
						p.w.inject = func(c *call) fault {
							if !is(c) {
								return none
							}
							if n++; n != at {
								return none
							}
							met = true
							return how
						}
					})
				})
			})
			if at == 1 && !met {
				t.Error("the story has no such call")
			}
		}
	})
}

// act reports whether a daemon writes or acts in a terminal.
func act(c *call) bool { return c.own.host != nil && (c.kind == writing || c.kind == typing) }

// afterRecord begins when a handoff is recorded.
func afterRecord(p *person, begin func()) {
	p.w.afterFirst(func(what string) bool { return strings.Contains(what, "→ recorded") }, begin)
}

// start requests a new agent, and returns its id.
func (p *person) start(h *host) int64 { return startOn(p, h, "claude") }

// agent starts an agent and returns it once it is idle.
func (p *person) agent(h *host) *agent { return agentOn(p, h, "claude") }

// awaitIdle waits until an agent has registered and is idle, and returns its process.
func awaitIdle(p *person, id int64) *agent {
	p.await("its registration", 2*time.Minute, func() bool {
		row := rowOf(p, id)
		return row.RegisteredAt != nil && row.State == daemon.Idle
	})
	return p.w.process(id)
}

// awaitTurn waits until a turn of an agent runs.
func awaitTurn(p *person, a *agent) { p.poll("its turn", func() bool { return a.stop != nil }) }

// awaitRest waits until a turn of an agent has ended, and the daemon knows that.
func awaitRest(p *person, a *agent) {
	p.await("the end of its turn", time.Minute, func() bool { return p.row(a).WorkStop > 0 && p.row(a).State == daemon.Idle })
}

// delayFirst delays the first call that is accepts by the time that do returns.
func (w *world) delayFirst(is func(c *call) bool, do func() time.Duration) {
	w.delay = func(c *call) time.Duration {
		if !is(c) {
			return 0
		}
		w.delay = nil
		return do()
	}
}

// calls accepts the calls that begin with a text.
func calls(what string) func(c *call) bool {
	return func(c *call) bool { return strings.HasPrefix(c.what, what) }
}

// commits accepts the commits whose description contains a text.
func commits(what string) func(c *call) bool {
	return func(c *call) bool { return isCommit(c, what) }
}

// beforeFirst acts as the first call that is accepts comes.
func beforeFirst(w *world, is func(c *call) bool, do func()) {
	w.delayFirst(is, func() time.Duration { do(); return 0 })
}

// holdFirst delays the first call that is accepts. *came says whether that has begun.
func (w *world) holdFirst(by time.Duration, is func(c *call) bool) (came *bool) {
	came = new(bool)
	w.delayFirst(is, func() time.Duration { *came = true; return by })
	return came
}

// awaitEnd waits until an agent has ended by its row.
func (p *person) awaitEnd(a *agent) {
	p.await("its end", time.Minute, func() bool { return p.row(a).EndedAt != nil })
}

// stopped stops an agent, and waits for its end.
func (p *person) stopped(h *host, a *agent) {
	p.stop(h, a.id, false)
	p.awaitEnd(a)
}

// delayEach delays each call that is accepts.
func (w *world) delayEach(by time.Duration, is func(c *call) bool) {
	w.delay = func(c *call) time.Duration {
		if is(c) {
			return by
		}
		return 0
	}
}

// failEach has each call fail that is accepts.
func (w *world) failEach(how fault, is func(c *call) bool) {
	w.inject = func(c *call) fault {
		if is(c) {
			return how
		}
		return none
	}
}

// failFirst has the first calls fail that is accepts, as many as most says. *met says how many have.
func (w *world) failFirst(how fault, most int, is func(c *call) bool) (met *int) {
	met = new(int)
	w.failEach(how, func(c *call) bool {
		so := is(c)
		if so {
			*met++
		}
		if *met == most {
			w.inject = nil
		}
		return so
	})
	return met
}

// afterFirst acts after the first commit that is accepts.
func (w *world) afterFirst(is func(what string) bool, do func()) {
	w.after = func(what string) {
		if is(what) {
			w.after = nil
			do()
		}
	}
}

// request requests a handoff, and waits until it is in a phase.
func (p *person) request(h *host, a *agent, until daemon.Phase) daemon.Handoff {
	p.requestHandoff(h, a, "")
	return p.reach(a, until)
}

// requestHandoff requests a handoff in a mode; "" is the default mode.
func (p *person) requestHandoff(h *host, a *agent, mode daemon.Mode) {
	p.w.ok(handOff(p, h, a.id, handoffs.HandoffRequest{Force: true, Mode: mode}))
}

// awaitQuestion waits until the daemon asks what to do about an agent's handoff, because the agent has work that no
// document mentions. The agent must still be active then.
func (p *person) awaitQuestion(a *agent, within time.Duration) {
	p.await("the daemon to ask", within, func() bool { return a.dead || p.handoffs(a.id)[0].Retryable() })
	if a.dead {
		p.w.fail("agent %d was ended with work that no document mentions", a.id)
	}
}

// retryToEnd retries an agent's handoff, and waits until it is completed.
func (p *person) retryToEnd(a *agent) {
	p.w.ok(p.retry(&p.handoffs(a.id)[0]))
	p.reach(a, daemon.Completed)
}

// goesOn is an extra act of an agent's turn that ends when *over is set.
func goesOn(a *agent, over *bool) func(context.Context) bool {
	return func(context.Context) bool {
		for !*over {
			a.do("goes on", time.Second, time.Second)
		}
		return true
	}
}

// endsAfterAQuestion waits until the daemon asks about an agent's handoff, retries it, and waits until it is completed.
func endsAfterAQuestion(p *person, a *agent) {
	p.awaitQuestion(a, 5*time.Minute)
	p.retryToEnd(a)
}

// stop stops an agent.
func (p *person) stop(h *host, id int64, force bool) { p.w.ok(stop(p, h, id, force)) }

// reopen resumes the session of an ended agent, and returns the new agent.
func (p *person) reopen(h *host, id int64) daemon.Agent {
	next, err := resumeAgent(p, h, id)
	p.w.ok(err)
	return next
}

// end ends a host's daemon. The service manager starts the next one.
func (p *person) end(h *host) {
	before := h.daemon
	before.cancel(errStopped)
	p.await("the end of the daemon", time.Minute, func() bool { return h.daemon != before })
}

// awaitDaemon waits until a host's daemon listens.
func awaitDaemon(p *person, h *host) {
	p.await("the daemon", time.Minute, func() bool { return h.daemon != nil && h.daemon.listening })
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

// failsBy waits until the handoff of an agent has failed, and wants the code of that.
func failsBy(p *person, a *agent, code daemon.Code) daemon.Handoff {
	h := p.reach(a, daemon.Failed)
	if h.Error == nil || h.Error.Code != code {
		p.w.fail("handoff %d failed by %+v, not by %s", h.ID, h.Error, code)
	}
	return h
}

func wantCode(t *testing.T, err error, code daemon.Code) {
	t.Helper()
	var told *daemon.Error
	if !errors.As(err, &told) || told.Code != code {
		t.Errorf("got %v, want the code %s", err, code)
	}
}

// row returns the stored row of an agent.
func (p *person) row(a *agent) daemon.Agent { return rowOf(p, a.id) }

// rowOf returns the stored row of the agent with that id.
func rowOf(p *person, id int64) daemon.Agent {
	row, err := p.w.store.Agent(ctx(), id)
	p.w.ok(err)
	return row
}

// pipelineOf returns the stored row of a pipeline.
func pipelineOf(p *person, id int64) daemon.Pipeline {
	pl, err := p.w.store.Pipeline(ctx(), id)
	p.w.ok(err)
	return pl
}

// poll waits until so is true, and looks every 10 ms.
func (p *person) poll(what string, so func() bool) {
	for n := 0; !so(); n++ {
		if n > 100_000 {
			p.w.fail("waited in vain for %s", what)
			return
		}
		p.wait("awaits "+what, 10*time.Millisecond, 10*time.Millisecond)
	}
}

// newest waits for the newest agent of a step to be ready, and returns it.
func (p *person) newest(pipeline int64, step int) (a *agent) {
	p.await("an agent of the step", 2*time.Minute, func() bool {
		if ids := pipelineOf(p, pipeline).Steps[step].AgentIDs; len(ids) > 0 {
			a = p.w.process(ids[len(ids)-1])
		}
		return a != nil && a.ready
	})
	if a == nil {
		p.w.fail("pipeline %d has no agent at step %d", pipeline, step+1)
	}
	return a
}

func (p *person) abort(h *host, pipeline int64) { p.w.ok(abort(p, h, pipeline)) }

// startPipeline creates a pipeline from a template.
func (p *person) startPipeline(h *host, template string) int64 {
	return createPipeline(p, h, pipelines.NewPipeline{Template: template, Cwd: h.cwd})
}

// begun creates a pipeline from a template, and returns it and the agent of its first step.
func begun(p *person, h *host, template string) (id int64, a *agent) {
	id = p.startPipeline(h, template)
	return id, p.newest(id, 0)
}

// atWork creates a pipeline of one step, whose agent thinks for that long. It returns both when the agent is in its turn.
func atWork(p *person, h *host, long time.Duration) (id int64, a *agent) {
	thinking(p, long)
	id, a = begun(p, h, "one")
	awaitTurn(p, a)
	return id, a
}

// reachStatus waits until a pipeline has a status, and returns it.
func (p *person) reachStatus(id int64, until daemon.PipelineStatus) (pl daemon.Pipeline) {
	if !p.await(string(until), 10*time.Minute, func() bool {
		pl = pipelineOf(p, id)
		return pl.Status == until
	}) {
		p.w.fail("pipeline %d is %s (%s), not %s", id, pl.Status, pl.Note, until)
	}
	return pl
}

// promptOnce prompts an agent at its pane, and waits until the turn has ended.
func (p *person) promptOnce(a *agent) {
	a.person("some work", tmux.Enter)
	awaitRest(p, a)
}

// loseHooks makes all hooks of an event get lost from now on.
func (p *person) loseHooks(event string) {
	p.w.failEach(lostHook, func(c *call) bool { return c.kind == sending && isHook(c.own, event) })
}
