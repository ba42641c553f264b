package intake

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
)

// EnvSight is what a room has of the agents' panes: what is seen of an agent, and how it is reached. Its methods are safe for concurrent use.
type EnvSight struct{ d *Daemon }

// AgentInPane returns an active agent of this host that has a pane. It refuses others.
func (s EnvSight) AgentInPane(ctx context.Context, id int64) (daemon.Agent, error) {
	a, err := s.d.Agent(ctx, id)
	switch {
	case err != nil:
		return a, err
	case !a.Active():
		return a, daemon.ErrAgentNotActive
	case !a.HasPane():
		return a, daemon.ErrAgentNoPane
	}
	return a, s.d.RequireThisHost(a.Host)
}

// Terminal returns the tmux server that holds an agent's pane. It types into the pane only while it is the agent's.
func (s EnvSight) Terminal(a *daemon.Agent) (engine.Terminal, error) { return s.d.TerminalOf(a) }

// InFront reports whether an agent gets what is typed into its terminal.
func (s EnvSight) InFront(a *daemon.Agent) bool { return s.d.InFront(a) }

// ReadDialog reads the dialog that an agent's pane shows. It refuses if there is none.
func (s EnvSight) ReadDialog(ctx context.Context, a *daemon.Agent) (*daemon.ShownDialog, error) {
	return s.d.ReadDialog(ctx, a)
}

// Busy reports whether the runtime's registry says that an agent's turn runs.
func (s EnvSight) Busy(a *daemon.Agent) bool { return s.d.Look(a).Busy() }

// TurnInterrupted reports whether the registry and the screen say that no turn runs.
func (s EnvSight) TurnInterrupted(ctx context.Context, a *daemon.Agent) bool {
	return s.d.TurnInterrupted(ctx, a)
}

// PressEscape interrupts an agent's running turn. It presses nothing if none runs.
func (s EnvSight) PressEscape(ctx context.Context, a *daemon.Agent) error {
	return s.d.PressEscape(ctx, a)
}

// Status returns what the entry of an agent in its runtime's registry says. It reads the entry now.
func (s EnvSight) Status(a *daemon.Agent) runtimes.Status {
	reg, ok := sight.EntryOf(s.d.Sight, a)
	if !ok {
		return runtimes.StatusUnknown
	}
	return reg.Status
}

// NoteAnswered notes that the dialog of an agent's permission is closed.
func (s EnvSight) NoteAnswered(agentID int64, now time.Time) {
	sight.NoteAnswered(s.d.Sight, agentID, now)
}

// FirstPrompt looks at an agent that has told of no prompt yet. With wait, it may still take the one that it was started with: look again
// then. Otherwise holds reports whether a text stands in its composer; nil: the composer does not show.
func (s EnvSight) FirstPrompt(ctx context.Context, a *daemon.Agent) (holds func(text string) bool, wait time.Duration) {
	if wait := agents.UntilForgotten(s.d.Supervisor, a); wait > 0 {
		return nil, wait
	}
	screen, _, _ := s.d.Composer(ctx, a)
	switch {
	case screen == nil:
		return nil, 0
	case agents.StartHolds(s.d.Supervisor, a, screen):
		return nil, time.Second
	}
	return screen.Holds, 0
}

// Settled reports whether the runtime's registry has said the same of an agent for long enough.
func (s EnvSight) Settled(a *daemon.Agent) bool { return s.d.Look(a).Settled() }

// QuietFor reports whether the screen of an agent has not changed for so long.
func (s EnvSight) QuietFor(agentID int64, long time.Duration) bool {
	return s.d.QuietFor(agentID, long)
}

// Arriving reports whether a hook of an agent has arrived and is not applied yet.
func (s EnvSight) Arriving(a *daemon.Agent) bool { return s.d.arriving.of(a) }

// StartDeadline returns since when an agent may take how long to register, or to answer a dialog that comes before.
func (s EnvSight) StartDeadline(a *daemon.Agent) (since time.Time, limit time.Duration) {
	return s.d.StartDeadline(a)
}

// EndCause returns why an agent has ended, if it has lately; "": it lives, or that is long ago.
func (s EnvSight) EndCause(a *daemon.Agent) string { return s.d.EndCauseOf(a) }
