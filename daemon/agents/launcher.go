package agents

import (
	"sync/atomic"

	"github.com/understudyd/understudy/daemon/deliveries"
)

// Launcher starts agents: their rows, panes, launch files and work trees. It removes what they leave behind. Its methods are safe for
// concurrent use.
type Launcher struct {
	*deliveries.Courier
	diffs   chan struct{} // holds a value for each diff that is made
	peeking atomic.Bool   // a PeekAtStarting runs
}

func newLauncher(d *deliveries.Courier) *Launcher {
	if d.FreePort == nil {
		d.FreePort = freePort
	}
	return &Launcher{Courier: d, diffs: make(chan struct{}, maxDiffs)}
}
