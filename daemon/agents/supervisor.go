package agents

import (
	"sync/atomic"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
)

// Supervisor stops agents and opens their sessions again, and has all that a [Launcher] does. Its methods are safe for concurrent use.
type Supervisor struct {
	*Launcher
	opening  openings
	memories engine.Memory[supervisorMemory]
	resumed  atomic.Bool // ResumeDead has done its work
}

// New makes a supervisor, and the launcher that it stands on.
func New(d *deliveries.Courier) *Supervisor {
	s := &Supervisor{Launcher: newLauncher(d)}
	engine.Remember(d.Engine, &s.memories)
	return s
}

// supervisorMemory is what a Supervisor remembers about one agent: see [engine.Memory].
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
