package daemon

import (
	"time"

	"github.com/understudyd/understudy/tmux"
)

// AgentPane is the part of an agent about where it runs: its pane, and its process there.
type AgentPane struct {
	Pane       *string `json:"pane"`        // tmux's pane id, %N
	PaneSocket string  `json:"tmux_socket"` // the socket of the tmux server that holds the pane

	PaneServerPID   int    `json:"-"`
	PaneServerStart int64  `json:"-"` // Unix seconds
	PaneColumns     int    `json:"-"` // the pane is made with so many columns; 0: the default
	PaneRows        int    `json:"-"` // the pane is made with so many rows; 0: the default
	PID             int    `json:"-"` // the runtime's process; 0: not known
	PIDStart        uint64 `json:"-"` // when the process started, in clock ticks since boot; later ones with its pid differ
	TmuxSession     string `json:"-"` // the name of its tmux session, committed before the session is made
}

// HasPane reports whether the agent has a pane that text can be typed into.
func (a *AgentPane) HasPane() bool { return a.Pane != nil && *a.Pane != "" }

// Ref returns the full identity of the agent's pane.
func (a *AgentPane) Ref() tmux.Ref {
	ref := tmux.Ref{Socket: a.PaneSocket, ServerPID: a.PaneServerPID, ServerStart: a.PaneServerStart}
	if a.Pane != nil {
		ref.Pane = *a.Pane
	}
	return ref
}

func (a *AgentPane) SetPane(p *tmux.PaneInfo) {
	pane := p.Pane
	a.Pane, a.PaneSocket, a.PaneServerPID, a.PaneServerStart = &pane, p.Socket, p.ServerPID, p.ServerStart
}

// SetProcess notes the runtime's process, which may change while the agent lives.
func (a *AgentPane) SetProcess(p tmux.Process) { a.PID, a.PIDStart = p.PID, p.Start }

// Process returns the identity of the agent's process.
func (a *AgentPane) Process() tmux.Process { return tmux.Process{PID: a.PID, Start: a.PIDStart} }

// Launching reports whether the agent's pane is about to be made.
func (a *Agent) Launching() bool { return a.Managed && a.SpawnedAt == nil && a.Active() }

// LeavePane notes that the agent's session goes on without a pane.
func (a *Agent) LeavePane(now time.Time) {
	a.Pane = nil
	a.HoldBy(HoldInBackground.Hold(), now)
}

// NoPaneError refuses what needs the pane of an agent that has none. In the background it says how to get one.
func (a *Agent) NoPaneError() error {
	if a.Hold.Is(HoldInBackground) {
		return Errorf(KindInvalid, CodeAgentNoPane, "Agent has no tmux pane: %s", a.Hold.Words())
	}
	return ErrAgentNoPane
}
