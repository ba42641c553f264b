package sim

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/tmux"
)

// change writes an agent's row as nothing in the daemon does.
func (p *person) change(id int64, change func(*daemon.Agent)) {
	row, err := p.w.store.Agent(ctx(), id)
	if err == nil {
		change(&row)
		err = p.w.store.Commit(ctx(), &daemon.Change{Agents: []*daemon.Agent{&row}})
	}
	if err != nil {
		p.w.fail("agent %d: %v", id, err)
	}
}

// TestSkillIsAwaited: a successor is not told what to go on with before it knows whom it plays.
func TestSkillIsAwaited(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		var next int64
		var given *time.Time
		p.w.after = func(what string) {
			if strings.Contains(what, " → injecting_skill") {
				p.w.after = nil
				next = *p.handoffs(a.id)[0].SuccessorID
				p.change(next, func(row *daemon.Agent) { row.SkillInjectedAt, given = nil, row.SkillInjectedAt })
			}
		}
		p.request(h, a, daemon.InjectingSkill)
		p.wait("waits", 5*time.Second, 5*time.Second)
		if got := p.handoffs(a.id)[0].Phase; got != daemon.InjectingSkill {
			t.Errorf("the handoff is %s, and its successor has no skill", got)
		}
		p.change(next, func(row *daemon.Agent) { row.SkillInjectedAt = given })
		p.reach(a, daemon.Completed)
	})
}

// TestExitDialogIsAnswered: an agent that asks whether to exit although its tasks run is told to, and not killed.
func TestExitDialogIsAnswered(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.tasks = 1
		p.stop(h, a.id, false)
		p.await("its end", time.Minute, func() bool { return p.row(a).EndedAt != nil })
		if why := p.row(a).EndReason; why == nil || *why != "prompt_input_exit" {
			t.Errorf("it did not leave by itself: %v", why)
		}
		if slices.ContainsFunc(p.w.trace.lines, func(l line) bool { return strings.HasPrefix(l.what, "ends process") }) {
			t.Error("its process was ended, and its question had an answer")
		}
	})
}

// TestSuccessorEndsWhileBriefed: the handoff says that its successor ended, which is what happened.
func TestSuccessorEndsWhileBriefed(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		p.w.after = func(what string) {
			if strings.Contains(what, " → briefing") {
				p.w.after = nil
				p.w.of(*p.handoffs(a.id)[0].SuccessorID).signal(syscall.SIGKILL)
			}
		}
		if failed := p.request(h, a, daemon.Failed); failed.Error == nil || failed.Error.Code != "successor_gone" {
			t.Errorf("it failed with %v", failed.Error)
		}
	})
}

// TestExitIsTypedToWhatWasSeen: after a commit that took its time the pane is looked at again before the exit command
// is typed: a rule of every run says so.
func TestExitIsTypedToWhatWasSeen(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		p.w.delay = func(c *call) time.Duration {
			if strings.HasPrefix(c.what, "Commit ") && strings.Contains(c.what, "(exit for agent") {
				return 2 * time.Second
			}
			return 0
		}
		p.request(h, a, daemon.Completed)
	})
}

// TestDialogOpensUnderAPaste: what was about to be typed into a composer is not typed into the dialog that has taken its
// place: a rule of every run says so.
func TestDialogOpensUnderAPaste(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		typing := false
		p.w.delay = func(c *call) time.Duration {
			if !strings.HasPrefix(c.what, "Paste ") {
				return 0
			}
			p.w.delay, typing = nil, true
			return 5 * time.Second
		}
		p.request(h, a, daemon.Instructing)
		p.await("the paste", time.Minute, func() bool { return typing })
		go func() {
			a.step("thinks of something", 0, time.Millisecond)
			a.ask("permission", "waiting", dialog{Dialog: actor.Dialog{Title: "Bash", Question: "Do you want to proceed?", Choices: []string{"Yes", "No"}}})
		}()
		p.wait("looks elsewhere", 10*time.Second, 10*time.Second)
		a.person("", tmux.Enter)
		p.reach(a, daemon.Completed)
	})
}

// TestPromptIsReadUnderExit: a prompt whose keys the agent has not read yet when the exit command is typed behind them
// is not exited over: a rule of every run says so.
func TestPromptIsReadUnderExit(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
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
		p.asked(a, time.Minute)
		p.goOn(a)
	})
}

// TestEnterBesideADraft: an agent that is slow to read its keyboard gets one Enter for a text beside a draft, which comes
// back when the text is taken: a second one would submit it.
func TestEnterBesideADraft(t *testing.T) {
	for _, what := range []string{"a message", "the exit command"} {
		t.Run(what, func(t *testing.T) {
			story(t, func(t *testing.T, p *person, h *host) {
				a := p.agent(h)
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
					if a.composer.Text != "half a thought" {
						t.Errorf("the composer holds %q", a.composer.Text)
					}
				} else {
					p.stop(h, a.id, false)
				}
				p.await("its end", time.Minute, func() bool { return what == "a message" || a.dead })
				if pressed != 1 {
					t.Errorf("Enter was pressed %d times", pressed)
				}
			})
		})
	}
}

// TestEnterIsGivenTime: an agent that shows a text late, and is then slow to read its keyboard, gets a second to take each Enter.
func TestEnterIsGivenTime(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
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
	})
}

// TestMessageWhileRecorded: a message that comes while a handoff is being recorded, which drops what waits for the
// agent, is not dropped without a word: a rule of every run says so.
func TestMessageWhileRecorded(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		recording := false
		p.w.delay = func(c *call) time.Duration {
			if !strings.HasPrefix(c.what, "Commit ") || !strings.Contains(c.what, " → recorded") {
				return 0
			}
			p.w.delay, recording = nil, true
			return 5 * time.Second
		}
		p.request(h, a, daemon.Verifying)
		p.await("the record", time.Minute, func() bool { return recording })
		p.send(a.id)
		p.reach(a, daemon.Completed)
	})
}

// TestExitFails: a handoff whose agent nobody can end says so, and goes on by a retry once somebody has ended it.
func TestExitFails(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.undead, a.mood.deaf = true, true
		failed := p.request(h, a, daemon.Failed)
		if failed.Error == nil || failed.Error.Code != "exit_failed" {
			t.Errorf("it failed with %v", failed.Error)
		}
		a.undead = false
		a.signal(syscall.SIGKILL)
		_ = p.retry(&failed)
		p.reach(a, daemon.Completed)
	})
}

// TestTextOfAnAgentThatEnded: a text that an agent had not read when it ended does not count as taken: a rule of every
// run says so.
func TestTextOfAnAgentThatEnded(t *testing.T) {
	story(t, func(_ *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.frozen = time.Now().Add(time.Hour)
		p.request(h, a, daemon.Instructing)
		p.wait("waits", 2*time.Second, 2*time.Second)
		a.signal(syscall.SIGKILL)
		p.reach(a, daemon.Failed)
	})
}

// TestKilledInTheEnd: an agent that heeds neither /exit nor SIGTERM is killed.
func TestKilledInTheEnd(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := p.agent(h)
		a.mood.deaf, a.mood.ignoreTerm = true, true
		p.request(h, a, daemon.Completed)
		if !a.dead || p.row(a).StopStage != daemon.StopKill {
			t.Errorf("it is dead: %t, on the rung %q", a.dead, p.row(a).StopStage)
		}
	})
}
