package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// TestPromptUnderExit: a person submits a prompt while the daemon types the exit command. The daemon does not end the
// agent, and removes the exit command from the composer.
func TestPromptUnderExit(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.think = 20 * time.Second
		a.mood.hands = 10 * time.Millisecond
		h.term.before = func(text string) { // a person submits a moment before the paste
			if text == "/exit" {
				h.term.before = nil
				a.submit("one more thing")
			}
		}
		p.request(h, a, daemon.ShuttingDown)
		p.awaitQuestion(a, time.Minute)
		equal(t, "the composer holds", a.composer.Text, "")
		p.retryToEnd(a)
	}))
}

// TestCancelWhileTyping: the agent's daemon is frozen after it has committed the intention to type the instruction, and
// another host's daemon cancels the handoff. The first daemon does not type the instruction any more.
func TestCancelWhileTyping(t *testing.T) {
	storyOn(t, 2, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.afterFirst(func(what string) bool {
			return strings.Contains(what, "(instruction for agent") && strings.Contains(what, " typing ")
		}, func() {
			h.daemon.frozen = time.Now().Add(20 * time.Second)
		})
		p.requestHandoff(p.w.hosts[1], a, "")
		p.await("the daemon to freeze", time.Minute, func() bool { return !h.daemon.frozen.IsZero() })
		p.w.ok(cancel(p, p.w.hosts[1], a.id))
		p.wait("waits", time.Minute, time.Minute)
		if len(a.pending) > 0 || !a.documentAt.IsZero() {
			t.Error("the daemon typed the instruction of a cancelled handoff")
		}
	}))
}

// TestDocumentsOfAnotherHost: a skill names no document on a host other than the agent's, because the agent could not read
// it.
func TestDocumentsOfAnotherHost(t *testing.T) {
	storyOn(t, 2, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.request(h, a, daemon.Completed)
		id, err := startWith(p, p.w.hosts[1], agents.NewAgent{Runtime: "claude"})
		p.w.ok(err)
		awaitIdle(p, id)
		p.w.ok(assign(p, h, id))
		list := deliveries(p, id)
		if len(list) == 0 {
			t.Fatal("no skill for the agent")
		}
		if strings.Contains(list[0].Text, h.dir.Root()) {
			t.Errorf("the skill names files of another host: %s", list[0].Text)
		}
	}))
}

// TestSpawnAnswerLost: tmux makes a pane but reports a failure. The daemon finds the pane and takes it for the agent's.
func TestSpawnAnswerLost(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.failFirst(lostAnswer, 1, calls("Spawn"))
		if a := p.agent(h); a == nil || p.row(a).EndedAt != nil {
			t.Error("the agent runs, but its row has ended")
		}
	})
}

// TestServerEndsWhileLaunched: the tmux server ends after an agent's session has begun and before the daemon has stored its
// pane. The daemon does not start the agent a second time, even if the agent's first hook was lost.
func TestServerEndsWhileLaunched(t *testing.T) {
	for _, lost := range []string{"", hooks.SessionStart} {
		storyAs(t, "without "+lost, func(t *testing.T, p *person, h *host) {
			p.w.inject = func(c *call) fault {
				if c.kind == sending && lost != "" && isHook(c.own, lost) {
					return lostHook
				}
				if !strings.Contains(c.what, "agent_started") {
					return none
				}
				if rowOf(p, 1).LastHook > 0 {
					p.w.inject = nil
					h.term.die()
				}
				return failed
			}
			p.start(h)
			p.await("its process", time.Minute, func() bool { return len(p.w.agents) > 0 && p.w.agents[0].ready })
			if lost != "" {
				p.w.agents[0].person("some work", tmux.Enter)
			}
			p.awaitEnd(p.w.agents[0])
			equal(t, "the agent was started … times", len(p.w.agents), 1)
		})
	}
}

// TestHooksAreRunTwice: a runtime with the hook command in two places of its settings runs each hook twice. Its agent is
// handed over like any other, idle or busy.
func TestHooksAreRunTwice(t *testing.T) {
	for _, busy := range []bool{false, true} {
		storyAs(t, fmt.Sprintf("busy %t", busy), func(t *testing.T, p *person, h *host) {
			h.twice = true
			a := p.agent(h)
			p.promptOnce(a)
			if busy {
				a.mood.think = 20 * time.Second
				a.person("more work", tmux.Enter)
				p.await("its turn", time.Minute, func() bool { return p.row(a).State == daemon.Working })
			}
			p.request(h, a, daemon.Completed)
		})
	}
}

// TestTurnBetweenExitAndItsEnter: an agent takes a prompt and ends its turn while the exit command is on its way to the
// pane. The daemon does not end the agent. Every run checks that.
func TestTurnBetweenExitAndItsEnter(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.think = time.Second
		p.w.delayFirst(func(c *call) bool { return strings.HasPrefix(c.what, "Paste ") && strings.Contains(c.what, "/exit") }, func() time.Duration {
			a.person("one more thing", tmux.Enter)
			return 10 * time.Second
		})
		p.request(h, a, daemon.ShuttingDown)
		endsAfterAQuestion(p, a)
	}))
}

// TestWorkWithoutASessionStart: an agent's first hook is lost. The daemon still knows of the agent's prompts, by the
// transcript that the agent's other hooks name.
func TestWorkWithoutASessionStart(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.loseHooks(hooks.SessionStart)
		id := p.start(h)
		p.await("its process", time.Minute, func() bool { return p.w.process(id) != nil && p.w.process(id).ready })
		p.w.inject = nil
		a := p.w.process(id)
		a.mood.think = 10 * time.Second
		a.person("some work", tmux.Enter)
		p.wait("waits", 2*time.Second, 2*time.Second)
		a.person("one more thing", tmux.Enter)
		p.wait("waits", time.Second, time.Second)
		p.request(h, a, daemon.ShuttingDown)
		p.awaitQuestion(a, 5*time.Minute)
		p.w.ok(p.retry(&p.handoffs(a.id)[0]))
		p.wait("waits", time.Second, time.Second)
		a.person("and another", tmux.Enter) // its Stop is answered with the instruction: nothing is typed to an agent that has not registered
		p.reach(a, daemon.Completed)
	})
}
