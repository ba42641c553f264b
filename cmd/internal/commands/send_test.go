package commands

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
)

func TestUIDeliveryNote(t *testing.T) {
	t.Parallel()
	queued := &daemon.Delivery{State: daemon.DeliveryQueued}
	for _, c := range []struct {
		d    *daemon.Delivery
		g    daemon.Agent
		want string
	}{
		{queued, daemon.Agent{ID: 12, State: daemon.Waiting, Note: "old"}, "a dialog is open in agent 12's pane: answer it with `understudy agent attach 12`"},
		{queued, daemon.Agent{ID: 12, State: daemon.Working}, "agent 12 is in a turn; it gets the text when the turn ends"},
		{queued, daemon.Agent{ID: 12, State: daemon.Starting, Hold: &daemon.Hold{Kind: daemon.HoldNotRegistered}, Note: "it did not register"}, "it did not register"},
		{queued, daemon.Agent{ID: 12, State: daemon.Idle, Note: "its composer holds a draft"}, "its composer holds a draft"},
		{&daemon.Delivery{State: daemon.DeliveryTyping}, daemon.Agent{State: daemon.Working}, ""},
	} {
		if got := views.QueuedWords(c.d, &c.g); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
