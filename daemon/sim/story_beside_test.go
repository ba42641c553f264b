package sim

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestHandoffBesideTasks: what runs in the background of an agent holds its handoff if it is a sub-agent, or a command and the setting says
// so; a command ends with the agent otherwise. A warning names commands. Every run checks that no agent is ended before.
func TestHandoffBesideTasks(t *testing.T) {
	for name, tt := range map[string]struct {
		sub    bool
		policy daemon.BackgroundPolicy
		holds  bool
	}{
		"a sub-agent":           {true, daemon.BackgroundWarn, true},
		"a command":             {false, daemon.BackgroundWarn, false},
		"a command to wait for": {false, daemon.BackgroundWait, true},
	} {
		for _, mode := range []daemon.Mode{daemon.ModeAgent, daemon.ModeGenerate} {
			storyAs(t, name+" "+string(mode), func(t *testing.T, p *person, h *host) {
				if p.w.background != tt.policy {
					p.w.background = tt.policy
					p.end(h)
				}
				a := p.agent(h)
				over := false
				a.extra = func(context.Context) bool {
					a.tasks++
					if tt.sub {
						a.subs++
					}
					p.w.employEndless("task", func(p *person) {
						p.wait("runs", time.Minute, time.Minute)
						over = true
						if a.tasks--; tt.sub {
							a.subs--
						}
						a.enqueue(job{prompt: "<task-notification>done</task-notification>", from: notification})
					})
					return true
				}
				a.person("begin the task", tmux.Enter)
				p.await("the end of the turn", time.Minute, func() bool { return p.row(a).WorkStop > 0 && a.stop == nil })
				p.requestHandoff(h, a, mode)
				done := p.reach(a, daemon.Completed)
				if warned := strings.Contains(strings.Join(done.Warnings, "\n"), "make test"); over != tt.holds || warned != (!tt.sub && (mode == daemon.ModeAgent || !tt.holds)) {
					t.Errorf("the handoff waited: %t; warnings %q", over, done.Warnings)
				}
			})
		}
	}
}

// TestHandoffOfASessionThatMoved: the successor starts where the session has moved. Every run checks that.
func TestHandoffOfASessionThatMoved(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		to := filepath.Join(h.cwd, "tree-0")
		a.extra = func(context.Context) bool {
			worksIn(a, to)
			a.worked = ""
			return true
		}
		p.promptOnce(a)
		done := p.request(h, a, daemon.Completed)
		if next := p.w.process(*done.SuccessorID); next == nil || next.begun != to {
			t.Errorf("the successor is not in %s", to)
		}
	}))
}

// TestAsksBehindABlockedStop: another hook blocks the Stop of the turn in which a handoff's document is written, and the agent asks for a
// permission in that turn. Nothing is recorded before the turn is over. Every run checks that.
func TestAsksBehindABlockedStop(t *testing.T) {
	for _, cli := range []string{"claude", "codex"} {
		storyAs(t, cli, withOn(cli, func(t *testing.T, p *person, h *host, a *agent) {
			p.promptOnce(a)
			a.gating = time.Second
			p.w.employEndless("gate", func(p *person) {
				p.await("the gate", time.Minute, func() bool { return a.gated })
				a.gating, a.extra = 0, a.permission
				p.await("its dialog", time.Minute, func() bool { return a.dialog != nil })
				p.wait("looks on", 10*time.Second, 10*time.Second)
				a.person("", tmux.Enter)
			})
			p.request(h, a, daemon.Completed)
			if a.extra != nil || a.dialogs == 0 {
				t.Error("the agent has not asked")
			}
		}))
	}
}

// TestDialogBehindABlockedStop: another hook blocks the Stop of a CLI without a registry, and the agent asks for a permission in that turn. The
// daemon hears of that late. The dialog on the screen says that the turn is not over. Every run checks that nobody is told so.
func TestDialogBehindABlockedStop(t *testing.T) {
	story(t, withOn("codex", func(t *testing.T, p *person, h *host, a *agent) {
		a.gating = time.Second
		late := true
		p.w.failEach(failed, func(c *call) bool { return late && strings.HasPrefix(c.what, "RecordHook PermissionRequest") })
		message(p, h, a, "some work")
		p.await("the gate", time.Minute, func() bool { return a.gated })
		a.gating, a.extra = 0, a.permission
		p.await("its dialog", time.Minute, func() bool { return a.dialog != nil })
		p.wait("looks on", 5*time.Second, 5*time.Second)
		if row := p.row(a); row.StopCameAt == nil || row.State == daemon.Idle {
			t.Errorf("the agent is %s, and its Stop came at %v", row.State, row.StopCameAt)
		}
		late = false
		p.await("the permission", time.Minute, func() bool { return p.row(a).State == daemon.Waiting })
		a.person("", tmux.Enter)
		p.await("the end of the turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle })
	}))
}

// TestLooksFailBehindABlockedStop: another hook runs for a while before it blocks the Stop of a CLI without a registry, and now and then the
// daemon cannot look at the screen. The turn is not over. Every run checks that nobody is told so.
func TestLooksFailBehindABlockedStop(t *testing.T) {
	story(t, withOn("codex", func(t *testing.T, p *person, h *host, a *agent) {
		a.gating = time.Minute
		message(p, h, a, "some work")
		p.await("the gate", time.Minute, func() bool { return a.gated })
		for _, after := range []time.Duration{4 * time.Second, 4 * time.Second, 4 * time.Second, 4 * time.Second, 12 * time.Second} {
			p.wait("looks on", after, after)
			met := p.w.failFirst(failed, 1, calls("Look "))
			p.await("the failure", 10*time.Second, func() bool { return *met > 0 })
		}
		p.wait("looks on", 2*time.Second, 2*time.Second)
		a.gating = 0
		equal(t, "the turn is over", p.row(a).StopCameAt == nil, false)
	}))
}

// TestRetryBehindABlockedStop: another hook holds the Stop of the turn in which a handoff's document was written for so long that the handoff
// fails, and a person retries it. The document is recorded when the turn has gone on for busy_timeout, and not before; the agent is ended
// when its turn is over. Every run checks the last two.
func TestRetryBehindABlockedStop(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		a.gating = 5 * time.Minute
		failed := p.request(h, a, daemon.Failed)
		a.gating = 0 // the next Stop is not blocked
		began := time.Now()
		p.w.ok(p.retry(&failed))
		p.reach(a, daemon.ShuttingDown)
		if took, want := time.Since(began), settings().Handoff.BusyTimeout; took < want || took > want+10*time.Second {
			t.Errorf("the document was recorded %s after the retry", took)
		}
		p.reach(a, daemon.Completed)
	}))
}

// TestFinishedBeforeABlockedStop: an agent that had finished is opened again, and nothing of its next turn is stored, whose Stop is blocked. It is
// stopped. Its row says that it has finished, which is true of the earlier agent. Every run checks that it says so of no turn that goes on.
func TestFinishedBeforeABlockedStop(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		p.stopped(h, a)
		next := awaitIdle(p, p.reopen(h, a.id).ID)
		p.w.failEach(failed, func(c *call) bool { return c.kind == writing && !isCommit(c, "asked to stop") })
		next.gating = time.Minute
		next.person("some work", tmux.Enter)
		p.await("the gate", time.Minute, func() bool { return next.gated })
		p.stop(h, next.id, true)
		equal(t, "unread", p.row(next).Unread, true)
		p.w.inject = nil
		p.awaitEnd(next)
	}))
}
