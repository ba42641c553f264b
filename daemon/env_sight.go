package daemon

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// Sight is what a room has of the agents' panes: what is seen of an agent, and how it is reached. Its methods are safe for concurrent use.
type Sight struct{ d *Daemon }

// AgentInPane returns an active agent of this host that has a pane. It refuses others.
func (s Sight) AgentInPane(ctx context.Context, id int64) (Agent, error) {
	a, err := s.d.Agent(ctx, id)
	switch {
	case err != nil:
		return a, err
	case !a.Active():
		return a, errAgentNotActive
	case !a.HasPane():
		return a, ErrAgentNoPane
	}
	return a, s.d.requireThisHost(a.Host)
}

// Terminal returns the tmux server that holds an agent's pane. It types into the pane only while it is the agent's.
func (s Sight) Terminal(a *Agent) (Terminal, error) { return s.d.terminalOf(a) }

// InFront reports whether an agent gets what is typed into its terminal.
func (s Sight) InFront(a *Agent) bool { return s.d.inFront(a) }

// ReadDialog reads the dialog that an agent's pane shows. It refuses if there is none.
func (s Sight) ReadDialog(ctx context.Context, a *Agent) (*ShownDialog, error) {
	return s.d.readDialog(ctx, a)
}

// Busy reports whether the runtime's registry says that an agent's turn runs.
func (s Sight) Busy(a *Agent) bool { return s.d.look(a).busy() }

// TurnInterrupted reports whether the registry and the screen say that no turn runs.
func (s Sight) TurnInterrupted(ctx context.Context, a *Agent) bool {
	return s.d.turnInterrupted(ctx, a)
}

// PressEscape interrupts an agent's running turn. It presses nothing if none runs.
func (s Sight) PressEscape(ctx context.Context, a *Agent) error { return s.d.pressEscape(ctx, a) }

// Status returns what the entry of an agent in its runtime's registry says. It reads the entry now.
func (s Sight) Status(a *Agent) runtimes.Status {
	dir, rt := s.d.configDir(a), s.d.runtimeOf(a)
	if dir == "" || a.PID == 0 || rt.Registry == nil {
		return runtimes.StatusUnknown
	}
	b, err := s.d.Registry(rt.Registry(dir, a.PID))
	if err != nil {
		return runtimes.StatusUnknown
	}
	reg, err := runtimes.ParseRegistry(b)
	if err != nil {
		return runtimes.StatusUnknown
	}
	return reg.Status
}

// NoteAnswered notes that the dialog of an agent's permission is closed.
func (s Sight) NoteAnswered(agentID int64, now time.Time) { noteAnswered(s.d, agentID, now) }
