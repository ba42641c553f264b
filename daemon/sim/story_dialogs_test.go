package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/dialogs"
	"github.com/understudyd/understudy/daemon/house"
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
