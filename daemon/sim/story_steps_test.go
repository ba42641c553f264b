package sim

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// TestStepFailures: a step fails with the code of its cause, in words, and soon enough. A resume begins it anew, with the same prompt, and
// leaves no trace of the failure.
func TestStepFailures(t *testing.T) {
	for _, c := range []struct {
		code, says string
		within     time.Duration
		mood       func(a *agent)
		end        func(p *person, h *host, a *agent)
	}{
		{"runtime_error", "The agent's runtime reported an error instead of finishing: ", time.Minute, func(a *agent) { a.failing = true }, nil},
		{"step_timeout", "Step timed out after 180s", 3*time.Minute + 10*time.Second, func(a *agent) { a.mood.think = 100 * time.Hour }, nil},
		{"agent_gone", "Agent 1 ended before its turn was over (", 20 * time.Second, func(a *agent) { a.mood.think = time.Hour }, func(_ *person, _ *host, a *agent) { a.signal(syscall.SIGKILL) }},
		{"agent_gone", "Agent 1 was stopped before its turn was over", 20 * time.Second, func(a *agent) { a.mood.think = time.Hour }, func(p *person, h *host, a *agent) { p.stop(h, a.id, false) }},
	} {
		storyAs(t, c.says, func(t *testing.T, p *person, h *host) {
			p.w.born = c.mood
			began := time.Now()
			id := p.startPipeline(h, "one")
			if c.end != nil {
				a := p.newest(id, 0)
				p.poll("its turn", func() bool { return a.working != "" })
				c.end(p, h, a)
			}
			failed := p.reachStatus(id, daemon.PipelineFailed)
			if failed.Error == nil {
				return
			}
			if took, s := time.Since(began), failed.Steps[0]; string(failed.ErrorCode) != c.code || took > c.within || !strings.HasPrefix(*failed.Error, c.says) || *s.Error != *failed.Error || s.LatestHandoff != nil {
				t.Errorf("it failed with %s after %s: %s; its step with %s", failed.ErrorCode, took, *failed.Error, *s.Error)
			}
			p.w.born = nil
			p.resume(&failed, false)
			done := p.reachStatus(id, daemon.PipelineDone)
			if s := done.Steps[0]; done.Error != nil || s.Error != nil || done.Hint != "" || len(s.AgentIDs) != 2 || s.Input != failed.Steps[0].Input {
				t.Errorf("after the resume: %+v", done)
			}
		})
	}
}

// TestStopAfterTheEnd: an agent ends right after its turn, and its Stop comes a moment after its end. The Stop counts.
func TestStopAfterTheEnd(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		stopping := p.w.holdFirst(400*time.Millisecond, func(c *call) bool { return c.what == "connects" && isHook(c.own, "Stop") })
		id, a := begun(p, h, "one")
		p.poll("its Stop", func() bool { return *stopping })
		a.signal(syscall.SIGKILL)
		p.reachStatus(id, daemon.PipelineDone)
	})
}

// TestStepHearsAll: a step ends only when its agent has answered every message, every prompt from its pane and every
// notification of its background tasks. It does not end with an interrupted turn.
func TestStepHearsAll(t *testing.T) {
	for name, say := range map[string]func(p *person, a *agent){
		"a message":       func(p *person, a *agent) { p.send(a.id) },
		"a queued prompt": func(_ *person, a *agent) { a.person("one more thing", tmux.Enter) },
	} {
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
			id, a := atWork(p, h, 20*time.Second)
			a.mood.hands = 10 * time.Millisecond
			say(p, a)
			done := p.reachStatus(id, daemon.PipelineDone)
			equal(t, "the output is the second answer of", []string{a.answers[0], done.Steps[0].LatestHandoff.ContentMD}, a.answers)
		})
	}
	storyAs(t, "a message as the turn ends", func(t *testing.T, p *person, h *host) {
		ending := p.w.holdFirst(150*time.Millisecond, commits("«step_done»"))
		id, a := begun(p, h, "one")
		p.poll("the end of the step", func() bool { return *ending })
		p.send(a.id)
		done := p.reachStatus(id, daemon.PipelineDone)
		equal(t, "the output is the second answer of", []string{a.answers[0], done.Steps[0].LatestHandoff.ContentMD}, a.answers)
	})
	storyAs(t, "a background task", func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.tasks = 1 }
		id, a := begun(p, h, "one")
		p.await("its answer", time.Minute, func() bool { return len(a.answers) > 0 })
		p.wait("waits", 20*time.Second, 20*time.Second)
		if pl := pipelineOf(p, id); pl.Status != daemon.PipelineRunning {
			t.Errorf("the pipeline is %s while a task runs", pl.Status)
		}
		a.tasks--
		a.enqueue(job{prompt: "<task-notification>done</task-notification>", from: notification})
		p.reachStatus(id, daemon.PipelineDone)
	})
	storyAs(t, "a background task that does not end", func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.tasks = 1 }
		id, a := begun(p, h, "one")
		done := p.reachStatus(id, daemon.PipelineDone)
		const want = "Step 1 (developer-kim-2) ended with a background task of its agent still at work."
		if done.Steps[0].LatestHandoff.ContentMD != a.answers[0] || !slices.Contains(done.Warnings, want) {
			t.Errorf("the output is %q, the warnings are %q", done.Steps[0].LatestHandoff.ContentMD, done.Warnings)
		}
	})
	storyAs(t, "an interrupted turn", func(t *testing.T, p *person, h *host) {
		id, a := atWork(p, h, 20*time.Second)
		a.mood.hands = 10 * time.Millisecond
		p.send(a.id)
		p.poll("the next turn", func() bool { return a.stop != nil && strings.HasPrefix(a.working, "Task") })
		a.person("", tmux.Escape)
		p.wait("waits", 30*time.Second, 30*time.Second)
		if pl := pipelineOf(p, id); pl.Status != daemon.PipelineRunning || !strings.Contains(pl.Note, "as after Esc") {
			t.Errorf("the pipeline is %s (%s) after its agent was interrupted", pl.Status, pl.Note)
		}
		a.person("go on", tmux.Enter)
		p.reachStatus(id, daemon.PipelineDone)
	})
}

// TestForgottenPromptIsTakenAfterAll: nobody knows whether an agent has its step's prompt, and a person prompts it. The daemon is about to type
// the step's prompt once more as the agent takes it after all. Every run checks that the agent takes it once.
func TestForgottenPromptIsTakenAfterAll(t *testing.T) {
	story(t, func(_ *testing.T, p *person, h *host) {
		id, a := forgetful(p, h)
		typing := p.w.holdFirst(5*time.Second, commits(" typing "))
		a.person("something else first", tmux.Enter)
		p.await("the typing", time.Minute, func() bool { return *typing })
		pl := pipelineOf(p, id)
		a.given = append(a.given, pl.Steps[0].Input)
		a.enqueue(job{prompt: pl.Steps[0].Input})
		p.reachStatus(id, daemon.PipelineDone)
	})
}

// TestStepPromptWithMore: a person types behind the prompt of a step before Enter is pressed, submits both, and prompts once more. No hook tells of
// the first. The transcript has the step's prompt within another one. Every run checks that the agent is given it once.
func TestStepPromptWithMore(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		var a *agent
		p.w.born = func(born *agent) { a = born }
		p.loseHooks(hooks.UserPromptSubmit)
		beforeFirst(p.w, calls("Press "), func() { a.person(" And the barn.", tmux.Enter) })
		id := p.startPipeline(h, "one")
		p.await("its turn", time.Minute, func() bool { return a != nil && a.stop != nil })
		a.person("Look at the well.", tmux.Enter)
		p.reachStatus(id, daemon.PipelineDone)
	})
}

// TestStepWithoutItsPrompt: the agent of a step ends, or hangs, before it could be given its prompt. The pipeline tells the operator, and
// its prompt is no second alert.
func TestStepWithoutItsPrompt(t *testing.T) {
	for name, does := range map[string]func(a *agent){"killed": func(a *agent) { a.end("killed", 137) }, "hangs": func(a *agent) { a.frozen = time.Now().Add(time.Hour) }} {
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
			p.w.born = func(a *agent) { p.w.employEndless("chance", func(*person) { does(a) }) }
			p.reachStatus(p.startPipeline(h, "one"), daemon.PipelineFailed)
			told := eventsOf(p, event.DeliveryNotSubmitted)
			if len(told) != 1 || told[0].Alert || !eventsOf(p, event.PipelineFailed)[0].Alert {
				t.Errorf("%+v", told)
			}
		})
	}
}

// TestHandoffAsItsStepEnds: somebody requests a handoff in the moment in which the agent's step ends. No handoff begins for
// an agent that is being stopped. Every run checks that.
func TestHandoffAsItsStepEnds(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		ending := p.w.holdFirst(150*time.Millisecond, commits("«step_done»"))
		id, a := begun(p, h, "one")
		p.poll("the end of the step", func() bool { return *ending })
		p.requestHandoff(h, a, "") // the request is first, so the step goes on with the successor
		a.mood.deaf = true
		p.reachStatus(id, daemon.PipelineDone)
	})
}

// TestAgentOfAStepStays: nobody can end the agent of a step that is done. The next step begins all the same.
func TestAgentOfAStepStays(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.undead, a.mood.deaf, p.w.born = true, true, nil }
		id, a := begun(p, h, "four")
		p.newest(id, 1)
		a.undead = false
		a.signal(syscall.SIGKILL)
		p.reachStatus(id, daemon.PipelineWaiting)
	})
}

// TestNoSecondPaneAfterAnOutage: the database is away from the moment in which a step's agent was started, until the agent has
// done its turn and tmux has died. The hooks in the spool say that the session was there, so the daemon does not start the
// agent again. Every run checks that no agent is given the prompt of a step twice.
func TestNoSecondPaneAfterAnOutage(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		const away = 30 * time.Second
		var lost *agent
		p.w.born = func(a *agent) {
			if lost != nil {
				return
			}
			lost = a
			p.w.plan.away[h] = time.Now().Add(away)
			h.noteAbsence(p.w.plan.away[h])
		}
		id := p.startPipeline(h, "one")
		p.poll("its turn", func() bool { return lost != nil && lost.stop != nil })
		p.poll("the end of its turn", func() bool { return lost.stop == nil })
		h.term.die()
		p.await("the end of the pipeline", 10*time.Minute, func() bool {
			pl := pipelineOf(p, id)
			return pl.Status == daemon.PipelineDone || pl.Status == daemon.PipelineFailed
		})
	})
}

// TestProcessThatWasNeverStored: a step's first process ends with tmux before a daemon has stored it or it has told of itself. The
// daemon starts another one, whose answer is the step's output. Every run checks whose answer that is.
func TestProcessThatWasNeverStored(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.failEach(failed, func(c *call) bool { return strings.Contains(c.what, "agent_started") })
		p.w.born = func(a *agent) { a.mood.trust = len(p.w.agents) == 1 }
		id := p.startPipeline(h, "one")
		p.await("the dialog of its first process", time.Minute, func() bool { return len(p.w.agents) > 0 && p.w.agents[0].dialog != nil })
		p.w.inject = nil
		p.w.agents[0].signal(syscall.SIGKILL)
		h.term.die()
		p.reachStatus(id, daemon.PipelineDone)
		if n := len(p.w.agents); n != 2 || p.w.agents[1].id != p.w.agents[0].id {
			t.Errorf("the agent was started %d times", n)
		}
	})
}

// TestOutageWhileLaunched: the database does not answer for a moment while an agent's launch is prepared. The agent is started when it
// answers.
func TestOutageWhileLaunched(t *testing.T) {
	for _, first := range []string{"pipeline ", "Commit agent 1 starting "} {
		storyAs(t, first, func(t *testing.T, p *person, h *host) {
			away := p.w.failFirst(failed, 1, func(c *call) bool { return c.who == "agent 1" && strings.HasPrefix(c.what, first) })
			p.reachStatus(p.startPipeline(h, "one"), daemon.PipelineDone)
			equal(t, "the database was away … times", *away, 1)
		})
	}
}
