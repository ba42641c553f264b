package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

// running reports whether the agent's process lives: by its process where we know it, else by
// its pane.
func (d *Daemon) running(ctx context.Context, a *Agent) bool {
	if a.PID != 0 {
		return d.lives(a.Process())
	}
	term, err := d.terminalOf(a)
	if err != nil {
		return true
	}
	info, err := term.Inspect(ctx, a.Ref())
	return !errors.Is(err, tmux.ErrGone) && (err != nil || !info.Dead)
}

// reap commits the end of an agent whose process is gone.
func (d *Daemon) reap(ctx context.Context, a *Agent) error {
	now := d.now()
	e, err := d.endOf(ctx, a)
	if err != nil {
		return fmt.Errorf("agent %d: end: %w", a.ID, err)
	}
	c := &Change{Agents: []*Agent{a}}
	if over := d.endTrouble(a, "end"); over != nil {
		c.Events = append(c.Events, over)
	}
	c.Events = append(c.Events, e)
	a.be(Ended, now)
	a.EndedAt, a.Note = &now, ""
	if err := d.commit(ctx, c); err != nil {
		return fmt.Errorf("agent %d: end: %w", a.ID, err)
	}
	d.Log.Info("agent ended", "agent_id", a.ID, "reason", words.Log(*a.EndReason))
	d.cleanUp(ctx, a)
	d.wakeKin(a)
	return nil
}

// endOf finds out why an agent has ended, and makes the event. It is an alert unless the end was asked for, or a
// person has ended what they had started.
func (d *Daemon) endOf(ctx context.Context, a *Agent) (*event.Event, error) {
	asked := a.EndHint != "" && a.EndHint != "other" || a.StopAskedAt != nil
	reason := cmp.Or(a.EndHint, "process_gone")
	payload := map[string]any{"asked": a.StopAskedAt != nil}
	told := !asked && a.Managed
	if !asked && d.serverGone(ctx, a) {
		reason, a.EndCause = "tmux_server_gone", serverCause(a.Ref())
		if !a.Managed {
			var err error
			if told, err = d.endedTogether(ctx, a); err != nil {
				return nil, err
			}
		}
	}
	e := d.event(event.AgentEnded, &a.ID, nil, nil)
	if told {
		cause, hint := reason, fmt.Sprintf("open its session again with `understudy agent resume %d`", a.ID)
		if a.EndCause == "" {
			cause += d.lastWords(ctx, a)
		}
		if a.RegisteredAt == nil {
			reason, hint = cause, "it never had a session: put that right and start it anew with `understudy agent start`" // its last words are all that is known of it
		}
		tied, err := d.tied(ctx, a)
		if err != nil {
			return nil, err
		}
		payload["agent_name"], payload["tied"], payload["tmux_socket"], payload["own_server"] = a.Name, tied, a.PaneSocket, a.Managed
		payload["message"] = fmt.Sprintf("Agent %d (%s) ended without being asked (%s); %s.", a.ID, a.Name, cause, hint)
		e.Alert, e.Cause = true, a.EndCause
	}
	a.EndReason, payload["reason"] = &reason, reason
	e.Payload = event.Payload(payload)
	return e, nil
}

// cleanUp removes what an ended agent leaves: its dead pane on our server, and its launch files,
// which hold the secret.
func (d *Daemon) cleanUp(ctx context.Context, a *Agent) {
	if !a.Managed {
		return
	}
	// People may be attached to it: when its successor has a pane they are passed on to that.
	if h, ok, err := d.openHandoff(ctx, a.ID); err == nil && ok && h.Phase == ShuttingDown {
		return
	}
	if err := d.removePane(ctx, a); err != nil {
		d.Log.Warn("dead pane not removed", "agent_id", a.ID, "error", err)
	}
	if err := os.RemoveAll(d.Data.Launch(a.ID)); err != nil {
		d.Log.Warn("launch files not removed", "agent_id", a.ID, "error", err)
	}
}

// removePane removes a pane whose process has ended. It looks again before it does: a mistake about
// the end of a process must not end it.
func (d *Daemon) removePane(ctx context.Context, a *Agent) error {
	term, err := d.terminalOf(a)
	if err != nil {
		return nil // it never had one
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
