package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

// CleanUp removes the dead pane of an ended managed agent, and its launch files, which hold the secret.
func (d *Launcher) CleanUp(ctx context.Context, a *daemon.Agent) {
	if !a.Managed {
		return
	}
	// Keep the pane: people may be attached to it. PassOn switches them to the successor's pane, and then cleans up; or the
	// successor takes the pane.
	if h, ok, err := d.OpenHandoff(ctx, a.ID); err == nil && ok && (h.Phase == daemon.ShuttingDown || h.InPlace) {
		return
	}
	d.removeLeft(ctx, a)
}

// removeLeft removes what an ended managed agent has left.
func (d *Launcher) removeLeft(ctx context.Context, a *daemon.Agent) {
	if err := d.removePane(ctx, a); err != nil {
		d.Log.Warn("dead pane not removed", "agent_id", a.ID, "error", err)
	}
	if err := d.removeLaunchFiles(a); err != nil {
		d.Log.Warn("launch files not removed", "agent_id", a.ID, "error", err)
	}
}

// removePane removes a pane whose process has ended. It first looks at the process once more, so that it kills nothing if
// the end was a mistake.
func (d *Launcher) removePane(ctx context.Context, a *daemon.Agent) error {
	term, err := d.TerminalOf(a)
	if err != nil {
		return nil // the agent never had a pane
	}
	info, err := term.Inspect(ctx, a.Ref())
	if errors.Is(err, tmux.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := d.Processes.Find(info.PID); !info.Dead && !errors.Is(err, tmux.ErrNoProcess) {
		return fmt.Errorf("process %d of pane %s still runs", info.PID, info.Pane)
	}
	return term.Kill(ctx, a.Ref())
}

// PassOn switches the people who watch an ended agent to the pane of its successor, and removes the ended agent's pane, unless
// the successor has that very pane. It only logs an error, because the switch is only for people's comfort.
func (d *Launcher) PassOn(ctx context.Context, prev, next *daemon.Agent) {
	term, err := d.OwnTerminal()
	if err == nil && prev.Ref() != next.Ref() {
		err = term.SwitchClients(ctx, prev.TmuxSession, next.TmuxSession)
	}
	if err != nil {
		d.Log.Debug("watchers not switched to the successor", "agent_id", prev.ID, "successor_id", next.ID, "error", err)
	}
	d.removeLeft(ctx, prev)
}

// launchFailed commits the end of an agent that could not be started, and tells the operator.
func (d *Launcher) launchFailed(ctx context.Context, a *daemon.Agent, cause error) error {
	now := d.Now()
	a.Be(daemon.Ended, now)
	a.EndedAt = &now
	a.EndBy(daemon.EndedNotStarted, words.TrimDot(cause.Error()))
	e := d.Event(event.AgentFailed, &a.ID, nil, map[string]any{"code": daemon.CodeStartFailed,
		"message": fmt.Sprintf("Agent %d (%s) could not be started: %s; put that right and start it anew with `understudy agent start`.", a.ID, a.Name, words.TrimDot(cause.Error()))})
	e.Alert = a.StopAskedAt == nil // if it was asked to stop, somebody wanted its end
	c := &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{e}}
	if err := d.Commit(ctx, c); err != nil {
		return fmt.Errorf("agent %d: %w", a.ID, err)
	}
	d.CleanUp(ctx, a)
	if a.StopAskedAt != nil && a.PreviousAgentID != nil { // the predecessor's pane was kept for this agent
		if prev, err := d.Store.Agent(ctx, *a.PreviousAgentID); err == nil && !prev.Active() {
			d.removeLeft(ctx, &prev)
		}
	}
	d.WakeKin(a)
	return nil
}
