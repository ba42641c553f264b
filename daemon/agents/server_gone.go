package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/tmux"
)

// endedLately is how long after an agent's end the failure of its handoff or pipeline is still reported together with
// that end.
const endedLately = time.Minute

// EndCauseOf returns the EndCause of an agent, which becomes the Cause of the event when a handoff or a pipeline fails
// without that agent. "": the agent has not ended within endedLately, or no cause is known.
func (d *Supervisor) EndCauseOf(a *daemon.Agent) string {
	if a.Active() || d.TimeSpent(*a.EndedAt) > endedLately {
		return ""
	}
	return a.EndCause
}

// serverGone reports whether the tmux server of an ended agent's pane is gone. When a server ends, its agents may end
// before the server's process. In between the server answers nobody, so serverGone asks repeatedly for up to a second.
func (d *Supervisor) serverGone(ctx context.Context, a *daemon.Agent) bool {
	const patience = time.Second
	term, err := d.TerminalOf(a)
	if err != nil || a.PaneServerPID == 0 {
		return false
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(patience); ; {
		if _, err := d.Processes.Find(a.PaneServerPID); errors.Is(err, tmux.ErrNoProcess) {
			return true
		}
		_, err := term.Inspect(ctx, a.Ref())
		switch {
		case errors.Is(err, tmux.ErrNoServer):
			return true
		case err == nil || errors.Is(err, tmux.ErrGone) || time.Now().After(until):
			return false
		}
		if !lane.Ticked(ctx, tick.C) {
			return false
		}
	}
}

// endedTogether reports whether another agent has ended with the same EndCause, or will soon, because its pane is on the
// same server.
func (d *Supervisor) endedTogether(ctx context.Context, a *daemon.Agent) (bool, error) {
	active, err := d.Roster.Agents(ctx)
	if err != nil {
		return false, err
	}
	for i := range active {
		if b := &active[i]; b.ID != a.ID && b.HasPane() && serverCause(b.Ref()) == a.EndCause {
			return true, nil
		}
	}
	ended, err := d.Store.Agents(ctx, daemon.AgentFilter{Host: d.Host, EndCause: a.EndCause, Limit: 1})
	return len(ended) > 0, err
}

// serverCause names a tmux server as the cause of events.
func serverCause(ref tmux.Ref) string {
	return fmt.Sprintf("%s%d %d %s", event.CauseServer, ref.ServerPID, ref.ServerStart, ref.Socket)
}

// tied says why a person should not resume an ended agent: its handoff or its pipeline continues the work, or the agent
// has no session that could be opened again. "": a person may resume it.
func (d *Supervisor) tied(ctx context.Context, a *daemon.Agent) (string, error) {
	h, ok, err := d.OpenHandoff(ctx, a.ID)
	switch {
	case err != nil:
		return "", err
	case ok:
		return fmt.Sprintf("handoff %d", h.ID), nil
	case a.PipelineID != nil:
		return fmt.Sprintf("pipeline %d", *a.PipelineID), nil
	case a.RegisteredAt == nil || a.SessionID == nil:
		return event.TiedNoSession, nil
	case d.FileGone(a):
		return event.TiedNoConversation, nil
	}
	return "", nil
}
