package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
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
		if traced(p.w, "Signal ") {
			t.Error("a daemon signalled the agent, which was about to exit")
		}
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
			if a.dead {
				t.Error("the agent was ended")
			}
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
		if a.dialog != nil {
			t.Errorf("%q stands in the pane", a.dialog.Title)
		}
		a.tasks--
		p.retryToEnd(a)
	}))
}
