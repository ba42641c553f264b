package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

// Reap commits the end of an agent whose process is gone.
func (d *Supervisor) Reap(ctx context.Context, a *daemon.Agent) error {
	endView(ctx, d, a)
	d.unsay(ctx, a)
	if err := d.CountNow(ctx, a); err != nil {
		return err
	}
	now := d.Now()
	e, err := d.endEvent(ctx, a)
	if err != nil {
		return fmt.Errorf("agent %d: end: %w", a.ID, err)
	}
	c := &daemon.Change{Agents: []*daemon.Agent{a}}
	if c.Agents, err = d.withPredecessor(ctx, a); err != nil {
		return fmt.Errorf("agent %d: end: %w", a.ID, err)
	}
	if over := d.Facts().EndTrouble(a, "end"); over != nil {
		c.Events = append(c.Events, over)
	}
	c.Events = append(c.Events, e)
	worked := a.RegisteredAt != nil && a.LastPrompt > 0 && sight.InTurn(a)
	a.Be(daemon.Ended, now)
	a.EndedAt = &now
	a.Release()
	switch {
	case e.Alert && d.FileGone(a):
		a.HoldBy(daemon.HoldNoConversation.Hold(), now)
	case worked && a.Died():
		a.HoldBy(daemon.HoldBrokeOff.Hold(), now)
	}
	if err := d.Commit(ctx, c); err != nil {
		return fmt.Errorf("agent %d: end: %w", a.ID, err)
	}
	d.Log.Info("agent ended", "agent_id", a.ID, "reason", words.Log(*a.EndReason))
	d.CleanUp(ctx, a)
	d.WakeKin(a)
	return nil
}

// endEvent finds out why an agent has ended, sets EndCode on the row, and makes the event. If nobody asked for the end,
// the event is an alert for a managed agent. For an agent that a person started it is an alert only if the agent's tmux
// server is gone and other agents have ended with it.
func (d *Supervisor) endEvent(ctx context.Context, a *daemon.Agent) (e *event.Event, err error) {
	asked := a.EndHint != "" && a.EndHint != "other" || a.StopAskedAt != nil
	code, said := cmp.Or(daemon.EndCode(a.EndHint), daemon.EndedGone), ""
	payload := map[string]any{"asked": a.StopAskedAt != nil}
	told := !asked && a.Managed
	if !asked && d.serverGone(ctx, a) {
		code, a.EndCause = daemon.EndedByServer, serverCause(a.Ref())
		if !a.Managed {
			if told, err = d.endedTogether(ctx, a); err != nil {
				return nil, err
			}
		}
	}
	if told && a.EndCause == "" && leftByItself(ctx, d, a) {
		code, told = daemon.EndedByItself, false
	}
	e = d.Event(event.AgentEnded, &a.ID, nil, nil)
	if told {
		lost, shows, hint := false, "", fmt.Sprintf("open its session again with `understudy agent resume %d`", a.ID)
		if a.EndCause == "" {
			shows, lost = d.LastWords(ctx, a)
		}
		switch {
		case lost:
			code, said = daemon.EndedLost, shows
			if hint, err = d.startAnew(ctx, a); err != nil {
				return nil, err
			}
		case a.RegisteredAt == nil:
			said, hint = shows, "it never had a session: put that right and start it anew with `understudy agent start`" // nothing but its last words says why
		case d.FileGone(a):
			if hint, err = d.startAnew(ctx, a); err != nil {
				return nil, err
			}
		}
		tied, err := d.tied(ctx, a)
		if err != nil {
			return nil, err
		}
		payload["agent_name"], payload["tied"], payload["tmux_socket"], payload["own_server"] = a.Name, tied, a.PaneSocket, a.Managed
		payload["message"] = fmt.Sprintf("Agent %d (%s) ended without being asked (%s); %s.", a.ID, a.Name, event.EndWords(string(code)+shows), hint)
		e.Alert, e.Cause = true, a.EndCause
	}
	a.EndBy(code, said)
	payload["reason"] = *a.EndReason
	e.Payload = event.Payload(payload)
	return e, nil
}

// leftByItself reports whether an agent was at rest and its program exited with the status 0: somebody has told it to, in its pane. Some
// CLIs report no end (OpenCode), or the same for each (Codex). One that a signal ends in a turn may exit with 0 as well, and its work broke off.
func leftByItself(ctx context.Context, d *Supervisor, a *daemon.Agent) bool {
	const patience = time.Second // tmux may notice the end of the program later than the daemon
	if !a.Managed || a.RegisteredAt == nil || !a.AtRest() || !a.HasPane() {
		return false
	}
	panes, err := d.TerminalOf(a)
	if err != nil {
		return false
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(patience); ; {
		info, err := panes.Inspect(ctx, a.Ref())
		switch {
		case errors.Is(err, tmux.ErrGone):
			return false
		case err == nil && info.Dead:
			return info.DeadStatus != nil && *info.DeadStatus == 0 && info.DeadSignal == nil
		case time.Now().After(until):
			return false
		}
		if !lane.Ticked(ctx, tick.C) {
			return false
		}
	}
}

// endView ends the process that only shows a session in the background, in the pane of an agent whose own process is gone.
// The pane is kept: people may be attached to it.
func endView(ctx context.Context, d *Supervisor, a *daemon.Agent) {
	if !d.Sighted(a.ID).Behind || !a.HasPane() || !a.Managed {
		return
	}
	term, err := d.TerminalOf(a)
	if err != nil {
		return
	}
	info, err := term.Inspect(ctx, a.Ref())
	if err != nil || info.Dead {
		return
	}
	view, err := d.Processes.Find(info.PID)
	if err == nil {
		err = d.Processes.Signal(view, syscall.SIGTERM)
	}
	if err == nil { // only a dead pane is removed when the successor has its own
		ctx, cancel := context.WithTimeoutCause(ctx, killAfter, errors.New("it did not end in time"))
		defer cancel()
		err = d.Processes.Wait(ctx, view)
	}
	if err != nil && !errors.Is(err, tmux.ErrNoProcess) {
		d.Log.Warn("the view of an ended session still runs", "agent_id", a.ID, "pid", info.PID, "error", err)
	}
}
