package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/dialogs"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/tmux"
)

// asks has an agent ask in its turn for the permission to run a command, and returns the newest permission, which a rule may have answered.
func asks(p *person, a *agent, command string) (newest daemon.Permission) {
	all := func() []daemon.Permission {
		return must(p.w.store.Permissions(ctx(), daemon.PermissionFilter{AgentID: a.id, Limit: 10}))
	}
	before := len(all())
	a.extra = func(ctx context.Context) bool {
		a.extra = nil
		a.askHeld(command, false)
		return !a.doIn(ctx, "deploys", 3*time.Second, 3*time.Second)
	}
	a.person("deploy it", tmux.Enter)
	p.await("the permission", time.Minute, func() bool { return len(all()) > before })
	return all()[0]
}

// TestPermissionByRule: what was allowed for an agent, and what the rules of its persona say, is answered before a person is asked. The row
// says which rule it was.
func TestPermissionByRule(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		first := asks(p, a, "make deploy")
		p.w.ok(allow(p, h, &first, daemon.AllowAgent))
		idle := func() {
			p.await("the end of the turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle })
		}
		idle()
		waits := events(p, event.AgentWaiting)
		if got := asks(p, a, "make deploy"); got.AnsweredBy != daemon.PermissionByRule || got.Verdict != daemon.AllowAgent && got.Verdict != daemon.Allow || got.Sentence != "rule Bash(make deploy)" {
			t.Errorf("%+v", got)
		}
		idle()
		writeSkill(p, h, "---\nname: x\ndescription: develops\npermissions: {deny: [\"Bash(make deploy*)\"]}\n---\nYou develop.\n")
		if got := asks(p, a, "make deploy"); got.AnsweredBy != daemon.PermissionByRule || got.Verdict != daemon.Deny || got.Sentence != "rule Bash(make deploy*)" {
			t.Errorf("%+v", got)
		}
		idle()
		if n := events(p, event.AgentWaiting); n != waits {
			t.Errorf("a person was asked %d times", n-waits)
		}
	}))
}

// TestAnswerIsNotAskedAgain: the registry says for a moment longer that a dialog is open, after its permission was answered. The agent is at
// work all the same, and the operator is told once that it waits.
func TestAnswerIsNotAskedAgain(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		asked := asks(p, a, "make deploy")
		p.wait("looks on", 5*time.Second, 5*time.Second)
		a.dialog.before = "waiting" // what the registry says when the dialog is closed
		p.w.ok(allow(p, h, &asked, daemon.Allow))
		p.wait("looks on", 900*time.Millisecond, 900*time.Millisecond)
		a.register("busy")
		p.await("the end of the turn", time.Minute, func() bool { return p.row(a).State == daemon.Idle })
		equal(t, "it is told … times that the agent waits", events(p, event.AgentWaiting), 1)
	}))
}

// TestDialogOfAPermissionIsAnsweredAsOne: the dialog of a permission that is held is shown, and answered as a permission only. When
// nobody has answered it in time, the dialog is answered as every other one.
func TestDialogOfAPermissionIsAnsweredAsOne(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		asked := asks(p, a, "make deploy")
		shown := shownDialog(p, a)
		if !strings.Contains(shown.Why, fmt.Sprintf("permission show %d", asked.ID)) || len(shown.Choices) != 2 {
			t.Errorf("%+v", shown)
		}
		wantCode(t, errorOf(chooseAt(p, a, shown.ID, 2)), daemon.CodeDialogIsPermission)
		p.await("the end of its time", 2*time.Minute, func() bool { return len(open(p, a)) == 0 })
		if shown = shownDialog(p, a); shown.Why != "" {
			t.Errorf("%+v", shown)
		}
		if got, err := chooseAt(p, a, shown.ID, 2); err != nil || got.State != daemon.DialogGone || got.Label != "No" {
			t.Errorf("%+v %v", got, err)
		}
	}))
}

// TestDialogIsAnsweredOnce: two people choose at once. The first answer counts, the second is told what was chosen, and the log has one of each.
func TestDialogIsAnsweredOnce(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		go asksFeedback(a, "a question", "")
		p.await("the dialog", time.Minute, func() bool { return p.row(a).State == daemon.Waiting })
		shown := shownDialog(p, a)
		var mu sync.Mutex
		var errs []error
		for range 2 {
			p.w.employEndless("an operator", func(p *person) {
				_, err := chooseAt(p, a, shown.ID, 2)
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			})
		}
		p.await("both answers", time.Minute, func() bool { mu.Lock(); defer mu.Unlock(); return len(errs) == 2 })
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%v: want one that counts", errs)
		}
		second := errors.Join(errs...)
		wantCode(t, second, daemon.CodeDialogAnswered)
		if !strings.Contains(second.Error(), "has been answered: choice 2, ‹No›") {
			t.Errorf("the second one was told %v", second)
		}
		for _, typ := range []event.Type{event.AgentDialogAnswered, event.AgentDialogEnded} {
			if list := eventsOf(p, typ); len(list) != 1 || !strings.Contains(list[0].Words(), "No") || list[0].Alert {
				t.Errorf("%s: %+v", typ, list)
			}
		}
	}))
}

// shownDialog is what an operator is shown of an agent's dialog.
func shownDialog(p *person, a *agent) sight.Dialog {
	shown, err := request(p, a.h, "look at the dialog", func(ctx context.Context, _ *house.House) (sight.Dialog, error) { return a.h.daemon.dialogOf(ctx, a) })
	p.w.ok(err)
	return shown
}

// chooseAt takes a choice of an agent's dialog from elsewhere.
func chooseAt(p *person, a *agent, id string, choice int) (daemon.DialogAnswer, error) {
	return request(p, a.h, "choose", func(ctx context.Context, d *house.House) (daemon.DialogAnswer, error) {
		return d.Dialogs.AnswerDialog(ctx, a.id, dialogs.DialogChoiceRequest{Dialog: id, Choice: choice, From: p.name})
	})
}
