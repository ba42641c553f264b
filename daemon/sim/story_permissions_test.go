package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/permissions"
	"github.com/understudyd/understudy/tmux"
)

// delegates has an agent start sub-agents that ask for permissions at once, and end its own turn. It returns the permissions in the order
// of their dialogs.
func delegates(p *person, a *agent, commands ...string) (asked []daemon.Permission) {
	a.extra = func(context.Context) bool {
		for _, command := range commands {
			a.tasks, a.subs = a.tasks+1, a.subs+1
			p.w.employEndless("sub-agent for "+command, func(*person) {
				a.askHeld(command, true)
				a.tasks, a.subs = a.tasks-1, a.subs-1
			})
		}
		return true
	}
	a.person("delegate it", tmux.Enter)
	p.await("the permissions", time.Minute, func() bool { return len(open(p, a)) == len(commands) })
	p.await("the end of the turn", time.Minute, func() bool { return a.stop == nil && p.row(a).LastStop > 0 })
	p.wait("looks on", 5*time.Second, 5*time.Second)
	for _, d := range append([]*dialog{a.dialog}, a.behind...) {
		for _, o := range open(p, a) {
			if o.Subject == d.Detail {
				asked = append(asked, o)
			}
		}
	}
	if len(asked) != len(commands) {
		p.w.fail("of %d permissions %d are open: %+v", len(commands), len(asked), asked)
	}
	return asked
}

// open returns the open permissions of an agent.
func open(p *person, a *agent) []daemon.Permission {
	return must(p.w.store.Permissions(ctx(), daemon.PermissionFilter{AgentID: a.id, Open: true}))
}

// becomes waits until a permission has ended, and checks how.
func becomes(p *person, id int64, want daemon.PermissionState) {
	var now daemon.Permission
	p.await("the end of the permission", 5*time.Second, func() bool {
		var err error
		now, err = p.w.store.Permission(ctx(), id)
		return err == nil && !now.Open()
	})
	if now.State != want {
		p.w.fail("permission %d is %s (%s), not %s", id, now.State, now.Note, want)
	}
}

// TestPermissionsEndOneByOne: three sub-agents ask at once, and their dialogs wait for each other. Each permission is open until its own
// dialog is answered, in the pane or from the seat, and ends then. Every run checks that none ends while its dialog waits or stands.
func TestPermissionsEndOneByOne(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		asked := delegates(p, a, "touch one", "touch two", "touch three")
		if t.Failed() || len(p.w.failures) > 0 {
			return
		}
		p.w.ok(allow(p, h, &asked[1], daemon.Allow)) // its dialog waits for its turn
		becomes(p, asked[1].ID, daemon.PermissionGiven)
		p.wait("looks on", 5*time.Second, 5*time.Second)
		if open := open(p, a); len(open) != 2 {
			t.Errorf("%d permissions are open, want 2: %+v", len(open), open)
		}
		a.person("", tmux.Enter)
		becomes(p, asked[0].ID, daemon.PermissionPane)
		p.wait("looks on", 5*time.Second, 5*time.Second)
		if open := open(p, a); len(open) != 1 || open[0].ID != asked[2].ID || a.dialog == nil || p.row(a).State != daemon.Waiting || !strings.Contains(p.row(a).WaitsFor, asked[2].Subject) {
			t.Errorf("the open permissions are %+v, the agent %s for %q", open, p.row(a).State, p.row(a).WaitsFor)
		}
		a.person("", tmux.Enter)
		becomes(p, asked[2].ID, daemon.PermissionPane)
	}))
}

// TestDialogOfAnUnansweredPermissionStands: nobody answers a permission in time, so its dialog goes on standing in the pane. A sub-agent asks
// for another one meanwhile, which is answered from the seat: the agent waits all the same, until the first dialog is answered.
func TestDialogOfAnUnansweredPermissionStands(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		first := delegates(p, a, "touch one")[0]
		p.await("the end of its time", time.Hour, func() bool { return len(open(p, a)) == 0 })
		p.w.employEndless("another sub-agent", func(*person) { a.askHeld("touch two", true) })
		p.await("the second permission", time.Minute, func() bool { return len(open(p, a)) == 1 })
		second := open(p, a)[0]
		p.w.ok(allow(p, h, &second, daemon.Allow))
		becomes(p, second.ID, daemon.PermissionGiven)
		if row := p.row(a); row.State != daemon.Waiting || !strings.Contains(row.WaitsFor, "touch one") {
			t.Errorf("the agent is %s for %q while the dialog of permission %d stands", row.State, row.WaitsFor, first.ID)
		}
		a.person("", tmux.Enter)
		p.await("the agent to go on", time.Minute, func() bool { return p.row(a).State != daemon.Waiting })
	}))
}

// TestPermissionIsAnsweredOnBothSides: the dialog is answered in the pane, and from the seat before the daemon has committed that. The answer
// from the seat was given to the hook, and nobody is told that it was lost.
func TestPermissionIsAnsweredOnBothSides(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		asked := delegates(p, a, "touch one")
		ends := p.w.holdFirst(2*time.Second, commits("«permission_ended»"))
		a.person("", tmux.Enter)
		p.poll("the end", func() bool { return *ends })
		p.w.ok(allow(p, h, &asked[0], daemon.Allow))
		becomes(p, asked[0].ID, daemon.PermissionGiven)
		for _, e := range log(p.w) {
			if e.Type == event.PermissionEnded || e.Alert && strings.HasPrefix(string(e.Type), "permission") && e.Type != event.PermissionAsked {
				t.Errorf("event %s %s", e.Type, e.Payload)
			}
		}
	}))
}

// TestPermissionWhoseHookIsLost: the database fails right after the hook of a permission was stored, so that no hook waits for the
// permission. Its dialog is answered in the pane, and the permission ends with it.
func TestPermissionWhoseHookIsLost(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.failFirst(failed, 1, func(c *call) bool {
			return strings.HasPrefix(c.what, "permission ") && strings.Contains(c.who, "hook PermissionRequest")
		})
		asked := delegates(p, a, "touch one")
		a.person("", tmux.Enter)
		becomes(p, asked[0].ID, daemon.PermissionPane)
		equal(t, "the database did not fail", p.w.inject != nil, false)
	}))
}

// TestPermissionAfterTheClockWasSetBack: the clock is set back while no daemon runs, and the dialog is answered in the pane. All that the
// next daemon hears of the agent seems to be older than the permission, which ends all the same.
func TestPermissionAfterTheClockWasSetBack(t *testing.T) {
	for _, by := range []time.Duration{0, -8 * time.Second, -20 * time.Second, -10 * time.Minute} {
		storyAs(t, by.String(), with(func(t *testing.T, p *person, h *host, a *agent) {
			asked := delegates(p, a, "touch one")
			p.end(h)
			h.setClock(by)
			a.person("", tmux.Enter)
			awaitDaemon(p, h)
			becomes(p, asked[0].ID, daemon.PermissionPane)
		}))
	}
}

// TestClockStepsWhileAPermissionIsOpen: the clock is set while a permission is open, while a daemon runs or while none does. A person has the
// time of the setting to answer it, and no more. After a start it is half a minute at least.
func TestClockStepsWhileAPermissionIsOpen(t *testing.T) {
	for _, runs := range []bool{true, false} {
		for _, by := range []time.Duration{-2 * time.Hour, -20 * time.Second, 0, 20 * time.Second, 2 * time.Hour} {
			storyAs(t, fmt.Sprintf("%s, runs %t", by, runs), with(func(t *testing.T, p *person, h *host, a *agent) {
				asked := delegates(p, a, "touch one")
				least := 40 * time.Second
				if !runs {
					p.end(h)
					least = 25 * time.Second
				}
				h.setClock(by)
				if !runs {
					awaitDaemon(p, h)
				}
				p.wait("looks on", least, least)
				equal(t, fmt.Sprint("after ", least, ": ", asked), len(open(p, a)), 1)
				p.await("the end of its time", time.Minute, func() bool { return len(open(p, a)) == 0 })
				becomes(p, asked[0].ID, daemon.PermissionUnanswered)
			}))
		}
	}
}

// TestAnswerWaitsForItsHook: the daemon is killed right after the answer from the seat is committed, and the dialog is answered in the pane
// before the hook has come back to the next daemon. The hook gets the answer, and nobody is told that it was lost.
func TestAnswerWaitsForItsHook(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		asked := delegates(p, a, "touch one")
		killed := h.daemon
		p.w.failFirst(crashAfter, 1, commits("«permission_answered»"))
		p.w.delayEach(10*time.Second, func(c *call) bool { return c.what == "asks again" })
		if g := h.daemon; g != nil {
			_, _ = g.call(p.name, 20*time.Second, func(ctx context.Context, d *house.House) error {
				return errorOf(d.Permissions.Answer(ctx, asked[0].ID, permissions.Answer{Verdict: daemon.Allow, Digest: asked[0].Digest, From: p.name}))
			})
		}
		a.person("", tmux.Enter)
		p.await("the next daemon", time.Minute, func() bool { return h.daemon != nil && h.daemon != killed && h.daemon.listening })
		p.await("the end of the permission", time.Minute, func() bool { return len(open(p, a)) == 0 })
		becomes(p, asked[0].ID, daemon.PermissionGiven)
	}))
}

// TestNextDialogComesAtOnce: a sub-agent asks in the very moment in which the dialog of another one is answered, so that the agent waits all
// the time. The first permission ends while the second dialog stands.
func TestNextDialogComesAtOnce(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		first := delegates(p, a, "touch one")[0]
		a.person("", tmux.Enter)
		p.poll("the end of the dialog", func() bool { return a.dialog == nil })
		p.w.employEndless("another sub-agent", func(*person) { a.askHeld("touch two", true) })
		becomes(p, first.ID, daemon.PermissionPane)
		second := open(p, a)
		if a.dialog == nil || len(second) != 1 {
			t.Fatalf("the second dialog has ended: %+v", second)
		}
		a.person("", tmux.Enter)
		becomes(p, second[0].ID, daemon.PermissionPane)
	}))
}

// TestDialogAnsweredUnderNoDaemon: the first of two dialogs is answered while no daemon runs. The next daemon can't tell that from a dialog that
// waits for its turn, as long as the second one stands, so it does not say that the first stands.
func TestDialogAnsweredUnderNoDaemon(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		asked := delegates(p, a, "touch one", "touch two")
		p.end(h)
		a.person("", tmux.Enter)
		p.await("the end of their time", 2*time.Minute, func() bool { return len(open(p, a)) == 0 })
		becomes(p, asked[0].ID, daemon.PermissionUnanswered)
		becomes(p, asked[1].ID, daemon.PermissionUnanswered)
		a.person("", tmux.Enter)
		p.await("the agent to go on", time.Minute, func() bool { return p.row(a).State != daemon.Waiting })
	}))
}
