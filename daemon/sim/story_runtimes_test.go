package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/tmux"
)

// agentOn starts an agent on a runtime, and returns it once it is idle, and has its skill.
func agentOn(p *person, h *host, runtime string) *agent {
	a := awaitIdle(p, startOn(p, h, runtime))
	p.await("its skill", 2*time.Minute, func() bool { return p.row(a).SkillInjectedAt != nil && p.row(a).State == daemon.Idle })
	return a
}

// message sends a text to an agent.
func message(p *person, h *host, a *agent, text string) {
	p.w.ok(errorOf(say(p, h, a.id, text, false)))
}

// pressed returns the keys that daemons have pressed in an agent's pane since the last text.
func pressed(h *host, a *agent) (keys []tmux.Key) {
	for _, in := range h.term.Inputs(a.ref) {
		if keys = append(keys, in.Key); in.Text != "" {
			keys = nil
		}
	}
	return keys
}

// hitLimit has an agent that shows its limit on the screen only hit one in its next turn.
func hitLimit(p *person, h *host, a *agent) {
	hits(a, time.Hour)
	message(p, h, a, "some work")
	p.poll("the question about the limit", func() bool { return a.dialog != nil && a.dialog.limit })
}

// TestLimitOnTheScreenIsLeft: the daemon answers the question about a usage limit with Stop, with two keys, although it is
// killed after the first. The agent is limited then, and is handed over as any other.
func TestLimitOnTheScreenIsLeft(t *testing.T) {
	story(t, withOn("gemini", func(t *testing.T, p *person, h *host, a *agent) {
		p.w.failFirst(crashAfter, 1, func(c *call) bool { return strings.HasPrefix(c.what, "Press ") && strings.Contains(c.what, "Down") })
		hitLimit(p, h, a)
		p.await("the limit", time.Minute, func() bool { return p.row(a).State == daemon.Limited })
		if keys := pressed(h, a); !slices.Equal(keys[len(keys)-2:], []tmux.Key{tmux.Down, tmux.Enter}) || len(keys) != 3 {
			t.Errorf("the keys after the text are %v", keys)
		}
		equal(t, "daemons were started", h.starts, 2)
		a.limits = nil
		p.request(h, a, daemon.Completed)
	}))
}

// TestLimitOnTheScreenThatStays: the agent takes no keys. After some of them the daemon reports the question as every other
// dialog, and presses none any more. Once the agent reads them, whoever answers last ends the turn.
func TestLimitOnTheScreenThatStays(t *testing.T) {
	story(t, withOn("gemini", func(t *testing.T, p *person, h *host, a *agent) {
		hitLimit(p, h, a)
		a.mood.hands = 0
		a.frozen = time.Now().Add(time.Minute)
		p.await("the question in the row", 40*time.Second, func() bool { return p.row(a).State == daemon.Waiting })
		was := len(pressed(h, a))
		p.wait("waits", 10*time.Second, 10*time.Second)
		if n := len(pressed(h, a)); n != was || n > 10 {
			t.Errorf("%d keys were pressed in vain, then %d", was, n-was)
		}
		p.await("the keys are read", time.Minute, func() bool { return len(a.inputs) == 0 && time.Now().After(a.frozen) })
		p.wait("waits", time.Second, time.Second)
		if d := a.dialog; d != nil && d.Selected != stopTrying {
			a.person("", tmux.Down)
		}
		a.person("", tmux.Enter)
		p.await("the limit", time.Minute, func() bool { return p.row(a).State == daemon.Limited })
		a.limits = nil
	}))
}

// TestEndBehindADialogIsSeen: the hooks of the end of a dialog and of the end of its turn are lost, and the runtime has no registry. The screen
// shows that the turn is over.
func TestEndBehindADialogIsSeen(t *testing.T) {
	story(t, withOn("omp", func(t *testing.T, p *person, h *host, a *agent) {
		a.extra = func(context.Context) bool {
			a.askHeld("touch one", false)
			return true
		}
		a.person("some work", tmux.Enter)
		p.await("the dialog", time.Minute, func() bool { return a.dialog != nil && p.row(a).State == daemon.Waiting })
		p.wait("thinks", time.Minute, time.Minute)
		equal(t, "the agent is … while its dialog stands", p.row(a).State, daemon.Waiting)
		p.w.failEach(lostHook, func(c *call) bool {
			return c.kind == sending && (isHook(c.own, "DialogClosed") || isHook(c.own, "TurnEnded"))
		})
		a.person("", tmux.Enter)
		p.await("the end of its turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle })
	}))
}

// TestEchoLooksAgain: the commit of the intention to type takes long, and a dialog opens meanwhile. The daemon looks again, and
// types nothing into the dialog of a program that it knows by its screen only.
func TestEchoLooksAgain(t *testing.T) {
	story(t, withOn(linesName, func(t *testing.T, p *person, h *host, a *agent) {
		p.w.delayFirst(func(c *call) bool { return strings.HasPrefix(c.what, "Commit ") && strings.Contains(c.what, "typing") }, func() time.Duration {
			go ask(a, "a question", "waiting", dialog{Dialog: actor.Dialog{Title: "May I?", Question: "Proceed?"}})
			return 2 * time.Second
		})
		before := len(h.term.Inputs(a.ref))
		message(p, h, a, "some work")
		p.wait("waits", 20*time.Second, 20*time.Second)
		if a.dialog == nil || len(h.term.Inputs(a.ref)) != before {
			t.Errorf("dialog %+v, typed %v", a.dialog, h.term.Inputs(a.ref)[before:])
		}
		a.person("", tmux.Enter)
		p.await("the turn", time.Minute, func() bool { return slices.Contains(a.given, "some work") })
		equal(t, "the text was delivered after the dialog", slices.Contains(a.given, "some work"), true)
	}))
}

// stopsAtAQuestion has a program that is known by its screen only stop at a question, in a turn.
func stopsAtAQuestion(p *person, h *host) *agent {
	a := agentOn(p, h, linesName)
	message(p, h, a, "some work")
	p.await("the turn", time.Minute, func() bool { return p.row(a).State == daemon.Working })
	go ask(a, "a question", "waiting", dialog{Dialog: actor.Dialog{Title: "May I?", Question: "Proceed?"}})
	return a
}

// TestScreenThatNeverGetsReady: a program that is known by its screen only stops at a question, in a turn. Nothing reports that, so the
// turn counts as failed once the screen has been the same for long, and the operator is told where to look.
func TestScreenThatNeverGetsReady(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := stopsAtAQuestion(p, h)
		p.wait("waits", 4*time.Minute, 4*time.Minute)
		if row := p.row(a); row.Trouble != nil {
			t.Errorf("after four minutes the agent is in trouble %+v", row.Trouble)
		}
		p.await("the trouble", 3*time.Minute, func() bool { return p.row(a).Trouble != nil })
		if row := p.row(a); row.State != daemon.Idle || !strings.Contains(row.Trouble.Message, "runtimes.lines.ready in config.yaml") {
			t.Errorf("the agent is %s in trouble %+v", row.State, row.Trouble)
		}
		a.person("", tmux.Enter)
	})
}

// TestSleepIsNoStillness: a host sleeps while a program that is known by its screen only stops at a question, in a turn. The screen shows
// nothing new meanwhile, but only the time in which the daemon ran counts: the turn has not failed.
func TestSleepIsNoStillness(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		a := stopsAtAQuestion(p, h)
		p.wait("waits", time.Minute, time.Minute)
		sleep(p, h)
		p.wait("wakes", time.Minute, time.Minute)
		if row := p.row(a); row.Trouble != nil || row.State != daemon.Working {
			t.Errorf("the agent is %s in trouble %+v", row.State, row.Trouble)
		}
		a.person("", tmux.Enter)
		p.await("the end of the turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle })
	})
}

// TestEnterAfterKills: daemons are killed between a paste and Enter, one after the other, as many as Enters that a delivery may have. The text
// stands in the composer, also of a CLI that cannot put a draft aside. The next daemon presses Enter, once.
func TestEnterAfterKills(t *testing.T) {
	for _, runtime := range []string{"claude", "gemini", "codex"} {
		storyAs(t, runtime, withOn(runtime, func(t *testing.T, p *person, h *host, a *agent) {
			p.w.failFirst(crashBefore, 3, calls("Press "))
			message(p, h, a, "some work")
			awaitRest(p, a)
			if keys := pressed(h, a); !slices.Equal(keys, []tmux.Key{tmux.Enter}) || h.starts != 4 {
				t.Errorf("keys %v by %d daemons", keys, h.starts)
			}
		}))
	}
}

// TestEnterAfterAStop: a daemon is stopped between a paste and Enter, its last commit is carried out, and the next one starts at once. Enter
// does not come so soon after the paste that the CLI drops it. Every run checks that.
func TestEnterAfterAStop(t *testing.T) {
	story(t, withOn("gemini", func(_ *testing.T, p *person, h *host, a *agent) {
		p.w.failEach(lostAnswer, func(c *call) bool { return c.abandoned() })
		p.w.delay = func(c *call) time.Duration {
			if strings.HasPrefix(c.what, "restarts ") {
				return 50*time.Millisecond - time.Until(c.due)
			}
			return 0
		}
		p.w.employEndless("somebody who stops the daemon", func(p *person) {
			p.poll("the text", func() bool { return a.composer.Text != "" })
			h.daemon.cancel(errStopped)
		})
		message(p, h, a, "some work")
		p.await("the end of its turn", time.Minute, func() bool { return p.row(a).WorkStop > 0 })
	}))
}

// TestServerIsSilent: a server takes a text, and answers nobody for longer than ack_timeout. Nothing can show the text meanwhile, so that
// time does not count, within a bound: the text has been submitted once, or nobody knows.
func TestServerIsSilent(t *testing.T) {
	for name, c := range map[string]struct {
		silent time.Duration
		want   daemon.Verdict
	}{
		"a minute":    {time.Minute, daemon.Submitted},
		"ten minutes": {10 * time.Minute, daemon.Unconfirmed},
	} {
		storyAs(t, name, withOn("opencode", func(t *testing.T, p *person, h *host, a *agent) {
			var since time.Time
			p.w.inject = func(one *call) fault {
				given := strings.HasPrefix(one.what, "POST prompt")
				if since.IsZero() && given {
					since = time.Now()
				}
				if since.IsZero() || time.Since(since) > c.silent || !given && !strings.HasPrefix(one.what, "GET session") {
					return none
				}
				return lostAnswer
			}
			message(p, h, a, "Mend the fence")
			d := verdict(p, a)
			if *d.Verdict != c.want || (c.want == daemon.Unconfirmed) != strings.Contains(d.Evidence, "its server did not answer for") {
				t.Errorf("the verdict is %v: %s", *d.Verdict, d.Evidence)
			}
			if n := len(slices.DeleteFunc(slices.Clone(a.given), func(text string) bool { return !strings.Contains(text, "Mend the fence") })); n != 1 {
				t.Errorf("the agent was given the text %d times", n)
			}
		}))
	}
}

// TestPromptThatOpencodeDrops: a person's prompt is queued behind a turn that is aborted, by the daemon at a usage limit or by the person's
// Esc. OpenCode drops such a prompt. The successor learns of it by the conversation, however the document comes about.
func TestPromptThatOpencodeDrops(t *testing.T) {
	for _, mode := range []daemon.Mode{daemon.ModeAgent, daemon.ModeGenerate, daemon.ModeTranscript} {
		for _, limit := range []bool{true, false} {
			storyAs(t, fmt.Sprintf("%s, limit %t", mode, limit), func(t *testing.T, p *person, h *host) {
				p.w.limits.OnLimit = daemon.LimitWait
				a := agentOn(p, h, "opencode")
				a.mood.think = time.Second
				a.extra = func(ctx context.Context) bool { return !a.doIn(ctx, "works", 10*time.Second, 10*time.Second) }
				a.person("some work", tmux.Enter)
				p.poll("the turn", func() bool { return a.stop != nil })
				if limit {
					a.limits = append(a.limits, &limitHit{over: time.Now().Add(10 * time.Minute), text: "usage limit reached"})
				}
				a.person("mend the fence", tmux.Enter)
				if !limit {
					p.wait("reads", time.Second, time.Second)
					a.person("", tmux.Escape)
				}
				p.await("the end of the turn", time.Minute, func() bool { return a.stop == nil && p.row(a).State != daemon.Working })
				p.wait("looks on", 10*time.Second, 10*time.Second)
				a.limits = nil
				p.requestHandoff(h, a, mode)
				p.reach(a, daemon.Completed)
				rec, err := p.w.store.Record(ctx(), p.handoffs(a.id)[0].ID)
				if err != nil || strings.Count(rec.Context, "mend the fence") != 1 || strings.Contains(rec.Context, "has not begun") != (mode != daemon.ModeAgent) {
					t.Errorf("%v, the context is %s", err, rec.Context)
				}
			})
		}
	}
}
