package stories

import (
	"context"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// atTyping lets a test do something between the commit of a text's typing and the typing.
func atTyping(g *gate, text string) func(*daemon.Change, func() error) error {
	return func(c *daemon.Change, do func() error) error {
		err := do()
		if err == nil && len(c.Deliveries) == 1 && c.Deliveries[0].State == daemon.DeliveryTyping && c.Deliveries[0].Text == text {
			g.pass()
		}
		return err
	}
}

// TestDialogBeforeTyping: a dialog opens after the look at the pane. Nothing is typed into it, and the text
// is typed when it is closed.
func TestDialogBeforeTyping(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := newGate(t)
		r.bent(&bend{commit: atTyping(g, "carry on")}).start()
		a := r.agent("")
		dl := r.send(a.ID, "carry on")
		g.await(t)
		r.personTypes(a.ID, ownWork, tmux.Enter)
		r.awaitShown(a.ID, "Do you want to proceed?")
		g.goOn()
		r.awaitState(a.ID, daemon.Waiting)
		r.wantNothingApproved(a.ID)
		r.personPresses(a.ID, tmux.Escape)
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		r.wantTold(a.ID, ownWork, "carry on")
		r.wantNothingApproved(a.ID)
	})
}

// TestDialogBeforeEnter: a dialog opens between the look and the paste, so that it swallows the text. Enter
// is not pressed, because the text does not stand in the composer.
func TestDialogBeforeEnter(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := newGate(t)
		r.bent(&bend{paste: func(_ context.Context, text string, do func() error) error {
			if text == "carry on" && g.pass() {
				return nil
			}
			return do()
		}})
		r.cfg.Settings.Handoff.AckTimeout = 3 * time.Second
		r.start()
		a := r.agent("")
		dl := r.send(a.ID, "carry on")
		g.await(t)
		r.personTypes(a.ID, ownWork, tmux.Enter)
		r.awaitShown(a.ID, "Do you want to proceed?")
		g.goOn()
		r.awaitVerdict(a.ID, dl.ID, daemon.Unconfirmed)
		r.wantNothingApproved(a.ID)
	})
}
