package agents

import (
	"sync/atomic"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
)

// Supervisor starts agents, stops them and opens their sessions again. Its methods are safe for concurrent use.
type Supervisor struct {
	*deliveries.Courier
	opening  openings
	memories engine.Memory[supervisorMemory]
	diffs    chan struct{} // holds a value for each diff that is made
	peeking  atomic.Bool   // a peekAtStarting runs
	resumed  atomic.Bool   // resumeDead has done its work
}

func New(d *deliveries.Courier) *Supervisor {
	if d.FreePort == nil {
		d.FreePort = freePort
	}
	s := &Supervisor{Courier: d, diffs: make(chan struct{}, maxDiffs)}
	engine.Remember(d.Engine, &s.memories)
	return s
}

// supervisorMemory is what a Supervisor remembers about one agent: see [Memory].
type supervisorMemory struct {
	// actedRung is the last rung of the stop ladder that the daemon acted on. After a restart the daemon acts on that
	// rung once more. This does no harm: a signal may be sent twice, and before it presses a key the daemon looks at the
	// registry or the screen.
	actedRung daemon.StopStage
	// exitRefused is the record after which the agent was given work, as its server has said when it was asked to exit. After a
	// restart the daemon asks the server again.
	exitRefused handoffRecord
	// lineShown is the line that was noted on the agent's pane, lineTried the one that was to be noted at lineAt. After a
	// restart the daemon notes the line once more.
	lineShown, lineTried tmux.Line
	lineAt               time.Time
	// said says that the person's pane from which the agent's work came was told who goes on. After a restart it is told again.
	said bool
}
