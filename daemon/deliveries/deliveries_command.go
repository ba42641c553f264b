package deliveries

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/sight"
)

// No hook confirms a command, such as /effort high. It counts as taken when it has left the composer after Enter was pressed for it.

// commandLooks is how long after a look that does not show a command the next one must not show it either: a look may come while the
// runtime draws its composer anew.
const commandLooks = 150 * time.Millisecond

// commandTaken reports whether the runtime has taken a command.
func commandTaken(ctx context.Context, d *Courier, a *daemon.Agent, dl *daemon.Delivery, s *sight.Screen) bool {
	if !leftComposer(dl, s) || !lane.Ticked(ctx, time.After(commandLooks)) {
		return false
	}
	s, err := d.ReadScreen(ctx, a)
	return err == nil && d.InFront(a) && leftComposer(dl, s)
}

// leftComposer reports whether a command has left the composer. Without an Enter for it, a busy runtime has not drawn it yet. A screen
// without a composer and without a dialog shows nothing of it.
func leftComposer(dl *daemon.Delivery, s *sight.Screen) bool {
	return dl.Kind == daemon.KindCommand && dl.Attempts > 0 && (s.Dialog != "" || s.Composer && !s.Holds(dl.Text))
}
