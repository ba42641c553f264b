package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
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
		p.w.afterFirst(typesInstruction, func() { h.daemon.frozen = time.Now().Add(20 * time.Second) })
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
		list := deliveries(p.w, id)
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

// slash is a /handoff that a person types at an idle agent's pane. Its hook is held, as long as the daemon wants.
type slash struct {
	a    *agent
	own  *owner
	env  hooks.Envelope
	id   int64  // the handoff for which it is held
	said string // what the person was told in the pane
}

// installed is the first line of the command that `understudy hooks install` writes.
const installed = "# understudy hooks install wrote this file, and uninstall removes it: changes get lost.\n"

// hookOfPrompt is the hook of a prompt, as it is sent to the daemon.
func hookOfPrompt(a *agent, prompt string) hooks.Envelope {
	_, payload := a.cli.hook(a, hooks.UserPromptSubmit, a.hooks().UserPromptSubmit(prompt))
	return a.h.envelope(a, hooks.UserPromptSubmit, mustJSON(payload))
}

// typesCommand types a prompt whose hook may be held. Where the agent runs, /handoff is installed.
func typesCommand(p *person, a *agent, prompt string) *slash {
	path := filepath.Join(a.h.config, "commands", "handoff.md")
	p.w.ok(errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(installed), 0o600)))
	s := &slash{a: a, own: &owner{name: a.h.name + " command", host: a.h}, env: hookOfPrompt(a, prompt)}
	s.env.Holds = true
	a.h.others = append(a.h.others, s.own)
	process := a.h.table.Start(a.proc.PID, nil)
	p.w.employEndless("command", func(p *person) {
		out, _, err := a.h.sendHeld(s.own, s.env, &tmux.Peer{Process: process, UID: os.Geteuid()}, func(held int64) { s.id = held })
		var answer struct{ Decision, Reason string }
		if err == nil && len(out) > 0 && json.Unmarshal(out, &answer) == nil && answer.Decision == "block" {
			s.said = answer.Reason
		}
		p.w.trace.note(s.own.name, "%s: the person is told %q, %v", prompt, s.said, err)
		a.h.table.End(process)
	})
	return s
}

// esc interrupts the held hook, as Esc in the pane does.
func (s *slash) esc(p *person) {
	env := hooks.Interrupted(s.env, s.id, time.Now())
	s.a.h.nonce++
	p.w.kill(s.own)
	done := s.a.h.runHook(s.a, env, false)
	p.wait("looks on", 2*time.Second, 2*time.Second)
	<-done
}

// turns returns how many turns of an agent have begun.
func turns(p *person, a *agent) (n int) {
	for _, e := range eventsOf(p, event.AgentWorking) {
		if *e.AgentID == a.id {
			n++
		}
	}
	return n
}

// TestHandoffCommandIsAnsweredAtThePane: the daemon holds a /handoff until its document is recorded, and says so at the pane: no turn begins.
// A daemon that is replaced meanwhile holds it again, and begins no second handoff. In the end the pane shows who goes on.
func TestHandoffCommandIsAnsweredAtThePane(t *testing.T) {
	for name, replaced := range map[string]bool{"one daemon": false, "two daemons": true} {
		storyAs(t, name, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			worked := turns(p, a)
			s := typesCommand(p, a, `/handoff the "parser" isn't done; $(date) `)
			p.await("the hook to be held", time.Minute, func() bool { return s.id != 0 })
			if replaced {
				p.end(h)
			}
			done := p.reach(a, daemon.Completed)
			if done.Mode != daemon.ModeGenerate || done.Focus != `the "parser" isn't done; $(date)` || done.Reason != handoffs.ReasonCommand || len(p.handoffs(a.id)) != 1 {
				t.Errorf("handoff %+v", done)
			}
			want := "Handoff 1: the document is recorded. This session ends now, and its successor takes over"
			if n := turns(p, a); !strings.HasPrefix(s.said, want) || n != worked {
				t.Errorf("the person was told %q; %d turns began", s.said, n-worked)
			}
			p.await("the outcome in the pane", time.Minute, func() bool {
				return strings.Contains(strings.Join(h.term.Messages(), "\n"), "Handoff 1 is done, agent 2 goes on: understudy agent attach 2")
			})
		}))
	}
}

// TestEscCancelsTheHandoffOfTheCommand: Esc cancels the handoff while its document is not recorded, also while no daemon runs. No turn has
// begun.
func TestEscCancelsTheHandoffOfTheCommand(t *testing.T) {
	for name, down := range map[string]bool{"the daemon runs": false, "no daemon runs": true} {
		storyAs(t, name, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			worked := turns(p, a)
			p.w.holdFirst(10*time.Second, commits("→ generating"))
			s := typesCommand(p, a, "/handoff the parser")
			p.await("the hook to be held", time.Minute, func() bool { return s.id != 0 })
			if down {
				if p.end(h); h.daemon != nil {
					t.Error("the next daemon runs already")
				}
			}
			s.esc(p)
			done := p.reach(a, daemon.Cancelled)
			if done.Error == nil || done.Error.Code != daemon.CodeCancelled || done.Error.Message != "Handoff cancelled in the agent's pane" {
				t.Errorf("error %+v", done.Error)
			}
			if n := turns(p, a); n != worked || p.row(a).State != daemon.Idle {
				t.Errorf("%d turns began, and the agent is %s", n-worked, p.row(a).State)
			}
		}))
	}
}

// TestHandoffCommandThatIsRefused: the pane shows why no handoff can start, and what to do. A command that no daemon has answered was a turn: its
// hook requests nothing when it comes out of the spool.
func TestHandoffCommandThatIsRefused(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		s := typesCommand(p, a, "/handoff")
		p.await("the answer", time.Minute, func() bool { return s.said != "" })
		equal(t, "the person was told", s.said, "No handoff was started: Nothing to hand off (no messages yet).")
		p.promptOnce(a)
		spool := hooks.OpenSpool(h.dir.Spool())
		spool.Clock = h.now
		p.w.ok(spool.Put(hookOfPrompt(a, "/handoff please")))
		p.end(h)
		p.await("the hook from the spool", time.Minute, func() bool { return p.row(a).Asked == "/handoff please" })
		if list := p.handoffs(a.id); len(list) != 0 {
			t.Errorf("handoffs %+v", list)
		}
	}))
}
