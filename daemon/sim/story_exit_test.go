package sim

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/tmux"
)

// delayEnterOfExit calls do when a daemon presses the first key after it has pasted the exit command, and delays that key
// by the time that do returns.
func delayEnterOfExit(p *person, do func() time.Duration) {
	pasted := false
	p.w.delayFirst(func(c *call) bool {
		pasted = pasted || strings.HasPrefix(c.what, "Paste ") && strings.Contains(c.what, "/exit")
		return pasted && strings.HasPrefix(c.what, "Press ")
	}, do)
}

// TestExitCommandTypedLate: typing the exit command takes as long as exit_timeout. The agent still has all of
// exit_timeout to exit.
func TestExitCommandTypedLate(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.exit = 4 * time.Second
		delayEnterOfExit(p, func() time.Duration { return settings().Handoff.ExitTimeout })
		p.request(h, a, daemon.Completed)
		equal(t, "a daemon signalled the agent, which was about to exit", traced(p.w, "Signal "), false)
	}))
}

// TestPromptBehindExit: a person types behind the exit command before the daemon presses Enter, which makes a prompt of
// both. The daemon does not end that prompt's turn, even if the prompt's hook comes after exit_timeout.
func TestPromptBehindExit(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.think = 20 * time.Second
		delayEnterOfExit(p, func() time.Duration {
			a.frozen = time.Now().Add(time.Second)
			a.person("one more thing")
			p.w.delayFirst(func(c *call) bool { return c.what == "connects" && strings.Contains(c.own.name, "UserPromptSubmit") },
				func() time.Duration { return settings().Handoff.ExitTimeout })
			return 0
		})
		p.request(h, a, daemon.ShuttingDown)
		endsAfterAQuestion(p, a)
	}))
}

// TestPromptRightBeforeExit: a person submits a prompt right before the daemon pastes the exit command. The agent reads both at once, so the
// composer shows the command alone for a moment before anything shows that a turn runs. It reads them at once, or just before the daemon
// would press Enter again; the daemon knows its screen, or does not. The daemon does not end that turn. Every run checks that.
func TestPromptRightBeforeExit(t *testing.T) {
	for name, after := range map[string]time.Duration{"read at once": 0, "read late": time.Second, "by echo": 0} {
		storyAs(t, name, func(_ *testing.T, p *person, h *host) {
			p.w.born = func(a *agent) { a.frame.Strange = name == "by echo" }
			a := p.agent(h)
			a.mood.hands, a.mood.think = 0, 20*time.Second
			var typed time.Time
			p.w.delay = func(c *call) time.Duration {
				switch {
				case typed.IsZero() && strings.HasPrefix(c.what, "Paste ") && strings.Contains(c.what, "/exit"):
					typed, a.frozen = time.Now(), time.Now().Add(time.Hour)
					a.person("one more thing", tmux.Enter)
				case !a.frozen.IsZero() && time.Since(typed) >= after && strings.HasPrefix(c.what, "Look "):
					a.frozen = time.Time{}
					a.press()
				case c.what == "wakes":
					return 30 * time.Millisecond
				}
				return 0
			}
			p.request(h, a, daemon.ShuttingDown)
			endsAfterAQuestion(p, a)
		})
	}
}

// TestWorkAfterSIGTERM: an agent ignores /exit and SIGTERM, and then takes a prompt. The daemon does not kill it.
func TestWorkAfterSIGTERM(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.ignoreTerm, a.mood.deaf = true, true
		p.request(h, a, daemon.ShuttingDown)
		p.await("SIGTERM", time.Minute, func() bool { return p.row(a).StopStage == daemon.StopTerm })
		a.person("one more thing", tmux.Enter)
		p.awaitQuestion(a, time.Minute)
		a.mood.deaf = false
		p.retryToEnd(a)
	}))
}

// TestServerRefusesTheExit: a person gives an agent more work before it is asked to exit, and the daemon cannot read the agent's
// session just then. The server's own answer keeps the agent alive, also if the clock was set back by then.
func TestServerRefusesTheExit(t *testing.T) {
	for _, by := range []time.Duration{0, -time.Hour} {
		storyAs(t, by.String(), withOn("opencode", func(t *testing.T, p *person, h *host, a *agent) {
			p.w.delayFirst(func(c *call) bool { return strings.Contains(c.what, `rung "exit"`) }, func() time.Duration {
				p.w.failEach(failed, calls("GET session"))
				h.setClock(by)
				a.person("one more thing", tmux.Enter)
				return 5 * time.Second
			})
			p.request(h, a, daemon.ShuttingDown)
			p.awaitQuestion(a, 5*time.Minute)
			p.wait("waits", 5*time.Minute, 5*time.Minute)
			equal(t, "the agent was ended", a.dead, false)
			before := p.row(a).LastPrompt
			p.w.inject = nil
			p.await("the daemon to read the session", time.Minute, func() bool { return p.row(a).LastPrompt > before })
			p.retryToEnd(a)
		}))
	}
}

// TestExitBehindATurnThatIsHeardLate: an agent that reads an inbox is given work just before the daemon asks it to exit, and the hook of that
// prompt is slow. The agent finds the file when the turn is over. It does not exit: the daemon did not know of the turn. Every run checks that
// no agent is ended with work that no document mentions.
func TestExitBehindATurnThatIsHeardLate(t *testing.T) {
	story(t, withOn("omp", func(_ *testing.T, p *person, h *host, a *agent) {
		p.promptOnce(a)
		a.mood.think = 0
		given := false
		p.w.delay = func(c *call) time.Duration {
			switch {
			case !given && strings.Contains(c.what, `rung "exit"`):
				given = true
				a.person("one more thing", tmux.Enter)
				return 500 * time.Millisecond
			case given && c.what == "RecordHook UserPromptSubmit":
				return 5 * time.Second
			}
			if _, err := os.Stat(filepath.Join(a.inbox, "exit.json")); err == nil && c.what == "list of handoffs" {
				return 6 * time.Second // the daemon looks again after the end of the turn
			}
			return 0
		}
		p.request(h, a, daemon.ShuttingDown)
		endsAfterAQuestion(p, a)
	}))
}

// TestExitBehindATextThatCameFirst: a text is on its way into the composer when the daemon pastes the exit command, and the screen shows both
// together only then. The daemon presses no Enter, which would make one prompt of them, and ends the agent with a signal.
func TestExitBehindATextThatCameFirst(t *testing.T) {
	for _, runtime := range []string{"claude", "codex"} {
		storyAs(t, runtime, withOn(runtime, func(t *testing.T, p *person, h *host, a *agent) {
			p.promptOnce(a)
			beforeFirst(p.w, func(c *call) bool {
				return strings.HasPrefix(c.what, "Paste ") && strings.Contains(c.what, a.cli.rt.Can.ExitText)
			}, func() {
				a.person("half a thought ")
			})
			p.stop(h, a.id, false)
			p.poll("its end", func() bool { row := p.row(a); return !row.Active() })
			for _, text := range a.given {
				if strings.Contains(text, "half a thought") {
					t.Errorf("the agent was given %q", text)
				}
			}
		}))
	}
}

// TestDialogOfAWithdrawnExit: the runtime asks whether to exit although a task runs, and at that moment it takes a prompt. The handoff withdraws
// its request to exit, and leaves the dialog: what the turn asks would wait behind it.
func TestDialogOfAWithdrawnExit(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		p.request(h, a, daemon.ShuttingDown)
		a.tasks++
		p.poll("the question whether to exit", func() bool { return a.dialog != nil && a.dialog.exit })
		a.enqueue(job{prompt: "one more thing"})
		p.awaitQuestion(a, time.Minute)
		equal(t, "the dialog in the pane", a.dialog, (*dialog)(nil))
		a.tasks--
		p.retryToEnd(a)
	}))
}

// change writes an agent's row directly, without a daemon.
func (p *person) change(id int64, change func(*daemon.Agent)) {
	row := rowOf(p, id)
	change(&row)
	p.w.ok(p.w.store.Commit(ctx(), &daemon.Change{Agents: []*daemon.Agent{&row}}))
}

// TestSkillIsAwaited: a successor gets its injection prompt only after its skill.
func TestSkillIsAwaited(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		var next int64
		var given *time.Time
		p.w.afterFirst(func(what string) bool { return strings.Contains(what, " → injecting_skill") }, func() {
			next = *p.handoffs(a.id)[0].SuccessorID
			p.change(next, func(row *daemon.Agent) { row.SkillInjectedAt, given = nil, row.SkillInjectedAt })
		})
		p.request(h, a, daemon.InjectingSkill)
		p.wait("waits", 5*time.Second, 5*time.Second)
		equal(t, "the handoff is …, but its successor has no skill", p.handoffs(a.id)[0].Phase, daemon.InjectingSkill)
		p.change(next, func(row *daemon.Agent) { row.SkillInjectedAt = given })
		p.reach(a, daemon.Completed)
	}))
}

// TestExitDialogIsAnswered: an agent asks whether to exit although its tasks run. The daemon answers yes and does not
// signal it.
func TestExitDialogIsAnswered(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.tasks = 1
		p.stopped(h, a)
		if why := p.row(a).EndReason; why == nil || *why != "prompt_input_exit" {
			t.Errorf("the agent did not exit by itself: %v", why)
		}
		equal(t, "a daemon ended the agent's process instead of answering its dialog", traced(p.w, "ends process"), false)
	}))
}

// TestSuccessorEndsWhileBriefed: a successor ends before it takes its injection prompt. The handoff fails with
// successor_gone.
func TestSuccessorEndsWhileBriefed(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.afterFirst(func(what string) bool { return strings.Contains(what, " → briefing") }, func() {
			p.w.process(*p.handoffs(a.id)[0].SuccessorID).signal(syscall.SIGKILL)
		})
		p.requestHandoff(h, a, "")
		failsBy(p, a, "successor_gone")
	}))
}

// TestExitIsTypedToWhatWasSeen: a commit takes long between the daemon's look at the pane and the exit command. The daemon
// looks again before it types. Every run checks that.
func TestExitIsTypedToWhatWasSeen(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.delayEach(2*time.Second, func(c *call) bool {
			return strings.HasPrefix(c.what, "Commit ") && strings.Contains(c.what, "(exit for agent")
		})
		p.request(h, a, daemon.Completed)
	}))
}

// TestDialogOpensUnderAPaste: a dialog takes the composer's place just before the daemon pastes. The daemon does not type
// into the dialog. Every run checks that.
func TestDialogOpensUnderAPaste(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		typing := p.w.holdFirst(5*time.Second, calls("Paste "))
		p.request(h, a, daemon.Instructing)
		p.await("the paste", time.Minute, func() bool { return *typing })
		go func() {
			a.do("thinks of something", 0, time.Millisecond)
			ask(a, "permission", "waiting", dialog{Dialog: actor.Dialog{Title: "Bash", Question: "Do you want to proceed?", Choices: []string{"Yes", "No"}}})
		}()
		p.wait("looks elsewhere", 10*time.Second, 10*time.Second)
		a.person("", tmux.Enter)
		p.reach(a, daemon.Completed)
	}))
}

// TestPromptIsReadUnderExit: the daemon types the exit command behind the keys of a prompt that the agent has not read yet.
// The daemon does not end the agent. Every run checks that.
func TestPromptIsReadUnderExit(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.think = 20 * time.Second
		h.term.before = func(text string) {
			if text == "/exit" {
				h.term.before, a.frozen = nil, time.Now().Add(time.Second)
				a.person("one more thing", tmux.Enter)
			}
		}
		p.request(h, a, daemon.AwaitingDocument)
		a.person("half a thought ")
		p.reach(a, daemon.ShuttingDown)
		endsAfterAQuestion(p, a)
	}))
}

// TestEnterBesideADraft: a person's draft is put aside for a delivery, and the agent is slow to read its keyboard. The
// daemon presses Enter once: the draft comes back with the first Enter, and a second one would submit it.
func TestEnterBesideADraft(t *testing.T) {
	for _, what := range []string{"a message", "the exit command"} {
		storyAs(t, what, with(func(t *testing.T, p *person, h *host, a *agent) {
			a.person("half a thought")
			p.wait("thinks", time.Second, time.Second)
			pressed := 0
			p.w.delay = func(c *call) time.Duration {
				if strings.HasPrefix(c.what, "Press ") {
					pressed++
					a.frozen = time.Now().Add(10 * time.Second)
				}
				return 0
			}
			if what == "a message" {
				p.send(a.id)
				p.await("the Enter", time.Minute, func() bool { return pressed > 0 })
				p.wait("looks elsewhere", 20*time.Second, 20*time.Second)
				equal(t, "the composer holds", a.composer.Text, "half a thought")
			} else {
				p.stop(h, a.id, false)
			}
			p.await("its end", time.Minute, func() bool { return what == "a message" || a.dead })
			equal(t, "Enter was pressed … times", pressed, 1)
		}))
	}
}

// TestEnterIsGivenTime: an agent shows a delivery late, and is slow to read its keyboard. The daemon waits a second after
// each Enter before it presses the next.
func TestEnterIsGivenTime(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		var pressed []time.Time
		p.w.delay = func(c *call) time.Duration {
			switch {
			case strings.HasPrefix(c.what, "Paste "):
				a.frozen = time.Now().Add(1500 * time.Millisecond)
			case strings.HasPrefix(c.what, "Press "):
				pressed = append(pressed, time.Now())
				a.frozen = time.Now().Add(1500 * time.Millisecond)
			}
			return 0
		}
		p.send(a.id)
		p.await("the end of its turn", time.Minute, func() bool { return len(pressed) > 1 && p.row(a).State == daemon.Idle })
		if gap := pressed[1].Sub(pressed[0]); gap < time.Second {
			t.Errorf("the second Enter came after %s", gap)
		}
	}))
}

// TestMessageWhileRecorded: a message comes while a handoff is being recorded, which drops the agent's queued deliveries. If
// the message is dropped, an event says so. Every run checks that.
func TestMessageWhileRecorded(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		recording := p.w.holdFirst(5*time.Second, commits(" → recorded"))
		p.request(h, a, daemon.Verifying)
		p.await("the record", time.Minute, func() bool { return *recording })
		p.send(a.id)
		p.reach(a, daemon.Completed)
	}))
}

// TestExitFails: a daemon cannot end the outgoing agent. The handoff fails with exit_failed, and a retry goes on once
// somebody has ended the agent.
func TestExitFails(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.undead, a.mood.deaf = true, true
		p.requestHandoff(h, a, "")
		failed := failsBy(p, a, "exit_failed")
		a.undead = false
		a.signal(syscall.SIGKILL)
		_ = p.retry(&failed)
		p.reach(a, daemon.Completed)
	}))
}

// TestTextOfAnAgentThatEnded: an agent ends before it has read a delivery. The verdict is not submitted. Every run checks
// that.
func TestTextOfAnAgentThatEnded(t *testing.T) {
	story(t, with(func(_ *testing.T, p *person, h *host, a *agent) {
		a.frozen = time.Now().Add(time.Hour)
		p.request(h, a, daemon.Instructing)
		p.wait("waits", 2*time.Second, 2*time.Second)
		a.signal(syscall.SIGKILL)
		p.reach(a, daemon.Failed)
	}))
}

// TestKilledInTheEnd: an agent ignores /exit and SIGTERM. The daemon kills it.
func TestKilledInTheEnd(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.mood.deaf, a.mood.ignoreTerm = true, true
		p.request(h, a, daemon.Completed)
		if !a.dead || p.row(a).StopStage != daemon.StopKill {
			t.Errorf("dead: %t, stop stage %q", a.dead, p.row(a).StopStage)
		}
	}))
}
