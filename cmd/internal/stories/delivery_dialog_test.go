package stories

import (
	"context"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// atTyping stops the daemon at a gate between the commit that a text is being typed and the typing.
func atTyping(g *gate, text string) func(*daemon.Change, func() error) error {
	return func(c *daemon.Change, do func() error) error {
		err := do()
		if err == nil && len(c.Deliveries) == 1 && c.Deliveries[0].State == daemon.DeliveryTyping && c.Deliveries[0].Text == text {
			g.pass()
		}
		return err
	}
}

// TestNothingIsTypedIntoADialog: The dialog opens after the daemon has looked at the pane. The daemon types the text
// when the dialog is closed.
func TestNothingIsTypedIntoADialog(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := newGate(t)
		r.bendWith(&bend{commit: atTyping(g, "carry on")}).start()
		a := r.startAgent("")
		dl := r.sendMessage(a.ID, "carry on")
		g.await(t)
		r.openDialog(a.ID)
		g.goOn()
		r.awaitState(a.ID, daemon.Waiting)
		r.wantNothingApproved(a.ID)
		r.personPresses(a.ID, tmux.Escape)
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		r.wantTold(a.ID, ownWork, "carry on")
		r.wantNothingApproved(a.ID)
	})
}

// TestEnterIsNotPressedInADialog: The dialog opens between the look and the paste, and swallows the text. The daemon
// does not press Enter, because the composer does not hold the text.
func TestEnterIsNotPressedInADialog(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := newGate(t)
		r.bendWith(&bend{paste: func(_ context.Context, text string, do func() error) error {
			if text == "carry on" && g.pass() {
				return nil
			}
			return do()
		}})
		r.cfg.Settings.Handoff.AckTimeout = 3 * time.Second
		r.start()
		a := r.startAgent("")
		dl := r.sendMessage(a.ID, "carry on")
		g.await(t)
		r.openDialog(a.ID)
		g.goOn()
		r.awaitVerdict(a.ID, dl.ID, daemon.Unconfirmed)
		r.wantNothingApproved(a.ID)
	})
}
