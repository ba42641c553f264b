package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// TestChoiceThroughKills: an operator takes the second choice of a dialog from elsewhere, and the daemon is killed before or after each of
// its acts. The choice is taken once or not at all, the row says which, and after a kill between the commit and the keys nobody presses
// anything: what is known is said, and the dialog stands for a person.
func TestChoiceThroughKills(t *testing.T) {
	for _, how := range []fault{none, crashBefore, crashAfter} {
		for nth := 1; nth <= 6 && (how != none || nth == 1); nth++ {
			storyAs(t, fmt.Sprintf("%s %d", how, nth), withOn("claude", func(t *testing.T, p *person, h *host, a *agent) {
				taken := make(chan int, 1)
				go func() {
					taken <- asksFeedback(a, "a question", "")
				}()
				p.await("the dialog", time.Minute, func() bool { return p.row(a).State == daemon.Waiting })
				acts := 0
				inject := func(c *call) fault {
					if !strings.HasPrefix(c.what, "Press ") && !strings.HasPrefix(c.what, "Commit agent") {
						return none
					}
					if acts++; acts == nth {
						return how
					}
					return none
				}
				choose2(p, h, a, func() { p.w.inject = inject })
				p.await("an end of the answer", time.Minute, func() bool {
					in := p.row(a).DialogAnswer
					return in == nil && acts > 0 && h.starts > 1 || in != nil && !in.Open()
				})
				in := p.row(a).DialogAnswer
				switch pressed := len(a.seats) > 0; {
				case in == nil: // killed before the answer was committed: the operator was told nothing
					if pressed || how != crashBefore || nth != 1 {
						t.Error("nobody has answered")
					}
				case pressed != (in.State == daemon.DialogGone) && in.State != daemon.DialogUnknown:
					t.Errorf("pressed %t, and the answer is %s: %s", pressed, in.State, in.Note)
				case how == none && (in.State != daemon.DialogGone || <-taken != 1):
					t.Errorf("the answer is %s: %s", in.State, in.Note)
				}
				if a.dialog == nil {
					return
				}
				if in != nil { // what is not known of an answer does not keep the next one away
					awaitDaemon(p, h)
					choose2(p, h, a, func() {})
					if in = p.row(a).DialogAnswer; in.State != daemon.DialogGone {
						t.Errorf("answered again, the answer is %s: %s", in.State, in.Note)
					}
					return
				}
				a.dialog.give(0)
			}))
		}
	}
}

// TestChoiceOfADialogThatIsGone: while an operator decides, the dialog is answered in the pane, and another one with the same choices stands
// there. Nothing is pressed in it, even if it comes when the answer is committed already.
func TestChoiceOfADialogThatIsGone(t *testing.T) {
	for _, committed := range []bool{false, true} {
		storyAs(t, fmt.Sprint("committed ", committed), withOn("claude", func(t *testing.T, p *person, h *host, a *agent) {
			ask := func(what string) {
				asksFeedback(a, "a question", what)
			}
			go func() { ask("the first"); ask("the second") }()
			p.await("the dialog", time.Minute, func() bool { return p.row(a).State == daemon.Waiting })
			next := func() { a.dialog.give(0) }
			choose2(p, h, a, func() {
				if !committed {
					next()
					p.wait("decides", time.Second, time.Second)
					return
				}
				beforeFirst(p.w, calls("Commit agent"), next)
			})
			p.wait("looks on", 20*time.Second, 20*time.Second)
			if d := a.dialog; d == nil || d.Detail != "the second" || !d.answered.IsZero() {
				t.Errorf("the dialog is %+v", d)
			}
			if in := p.row(a).DialogAnswer; in != nil && in.State != daemon.DialogNotPressed {
				t.Errorf("the answer is %s: %s", in.State, in.Note)
			}
			a.dialog.give(0)
		}))
	}
}

// choose2 takes the second choice of an agent's dialog from elsewhere. It calls ready when it has read the dialog.
func choose2(p *person, h *host, a *agent, ready func()) {
	g := h.daemon
	_, err := g.call(p.name, time.Minute, func(ctx context.Context, _ *house.House) error {
		shown, err := g.dialogOf(ctx, a)
		if err != nil {
			return err
		}
		ready()
		_, err = g.house.Dialogs.AnswerDialog(ctx, a.id, dialogs.DialogChoiceRequest{Dialog: shown.ID, Choice: 2, From: p.name})
		return err
	})
	p.w.trace.note(p.name, "chose: %v", err)
}

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
		names(t, "what the second one was told", second.Error(), "has been answered: choice 2, ‹No›")
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

// beginKeys lets an agent's pane take keys from a page.
func beginKeys(p *person, a *agent) (session string) {
	p.w.ok(p.ask(a.h, "begin keys", func(ctx context.Context, d *house.House) error {
		taken, err := d.Dialogs.BeginKeys(ctx, a.id, "browser")
		session = taken.Session
		return err
	}))
	return session
}

// typeKeys types a batch of keys. A key is given as key:NAME, a text as itself.
func typeKeys(p *person, a *agent, session string, seq int, items ...string) (dialogs.KeysTyped, error) {
	in := dialogs.KeyBatch{Session: session, Seq: seq}
	for _, item := range items {
		if key, ok := strings.CutPrefix(item, "key:"); ok {
			in.Items = append(in.Items, dialogs.KeyItem{Key: key})
		} else {
			in.Items = append(in.Items, dialogs.KeyItem{Text: item})
		}
	}
	return request(p, a.h, "type keys", func(ctx context.Context, d *house.House) (dialogs.KeysTyped, error) {
		return d.Dialogs.TypeKeys(ctx, a.id, in)
	})
}

// awaitKeysOff waits until the log says why the keys of an agent have ended for the n-th time.
func awaitKeysOff(p *person, a *agent, n int, why string) {
	p.await("the end of the keys: "+why, 10*time.Minute, func() bool {
		off := eventsOf(p, event.AgentKeysOff)
		return len(off) == n && strings.Contains(off[n-1].Words(), why) && p.row(a).Keys == nil
	})
}

// TestKeysAreTypedOnceAndInOrder: what a page types gets into the composer, each batch once. The log says who, for how long and how
// many, and never what.
func TestKeysAreTypedOnceAndInOrder(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		s := beginKeys(p, a)
		for i, batch := range [][]string{{"say he"}, {"lp; ", "$HOME"}} {
			for _, again := range []bool{false, true} {
				if got, err := typeKeys(p, a, s, i+1, batch...); err != nil || got.Repeated != again || got.Seq != i+1 {
					t.Errorf("again %t: %+v %v", again, got, err)
				}
			}
		}
		wantCode(t, errorOf(typeKeys(p, a, s, 4, "late")), daemon.CodeKeysOutOfOrder)
		wantCode(t, errorOf(typeKeys(p, a, s, 3, "key:Ctrl-C")), daemon.CodeBadKeys)
		p.w.ok(errorOf(typeKeys(p, a, s, 4, "key:Enter")))
		p.await("the prompt", time.Minute, func() bool { return p.row(a).Asked == "say help; $HOME" })
		p.w.ok(p.ask(h, "end keys", func(ctx context.Context, d *house.House) error {
			return errorOf(d.Dialogs.EndKeys(ctx, a.id, s))
		}))
		awaitKeysOff(p, a, 1, "the page turned it off; 16 keys")
		wantCode(t, errorOf(typeKeys(p, a, s, 5, "x")), daemon.CodeKeysOff)
		on, off := eventsOf(p, event.AgentKeysOn), eventsOf(p, event.AgentKeysOff)
		if len(on) != 1 || !strings.Contains(on[0].Words(), "browser") || strings.Contains(string(off[0].Payload), "help") {
			t.Errorf("%+v %+v", on, off)
		}
	}))
}

// TestKeysEndByThemselves: when no key comes, when the page goes, when another page takes over, when the daemon is restarted, and
// when the agent ends.
func TestKeysEndByThemselves(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		s := beginKeys(p, a)
		for range 4 * 60 / 5 { // an open page says something every few seconds
			p.wait("looks on", 5*time.Second, 5*time.Second)
			p.w.ok(errorOf(typeKeys(p, a, s, 0)))
		}
		p.wait("leaves", 10*time.Second, 10*time.Second)
		equal(t, "they ended early", p.row(a).Keys == nil, false)
		awaitKeysOff(p, a, 1, "the page is gone; 0 keys")
		s = beginKeys(p, a)
		for range 70 {
			p.wait("looks on", 5*time.Second, 5*time.Second)
			if _, err := typeKeys(p, a, s, 0); err != nil {
				break
			}
		}
		awaitKeysOff(p, a, 2, "no key for 5 min")
		s = beginKeys(p, a)
		other := beginKeys(p, a)
		wantCode(t, errorOf(typeKeys(p, a, s, 1, "x")), daemon.CodeKeysOff)
		awaitOff := eventsOf(p, event.AgentKeysOff)
		if len(awaitOff) != 3 || !strings.Contains(awaitOff[2].Words(), "another page takes over") {
			t.Errorf("%+v", awaitOff)
		}
		p.w.ok(errorOf(typeKeys(p, a, other, 1, "y")))
		p.end(h)
		wantCode(t, errorOf(typeKeys(p, a, other, 1, "y")), daemon.CodeKeysOff)
		awaitKeysOff(p, a, 4, "the daemon was restarted")
		equal(t, "the composer has", a.composer.Text, "y")
		beginKeys(p, a)
		p.stop(h, a.id, true)
		awaitKeysOff(p, a, 5, "the agent has ended")
	}))
}

// TestKeysWaitForAnEnter: while the daemon may still press Enter for a text of its own, keys are not mixed with that text.
func TestKeysWaitForAnEnter(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		s := beginKeys(p, a)
		lost := p.w.failFirst(failed, 1, calls("Press "))
		message(p, h, a, "the daemon's own text")
		p.poll("the loss of an Enter", func() bool { return *lost > 0 })
		p.w.ok(errorOf(typeKeys(p, a, s, 1, "mine")))
		p.await("both", time.Minute, func() bool { return slices.Contains(a.given, "the daemon's own text") && a.composer.Text == "mine" })
	}))
}
