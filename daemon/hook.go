package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// Hook stores a hook and applies it to its agent. It returns what the hook prints, which may be
// nothing. A hook with a key that is stored already is answered from its row.
func (d *Daemon) Hook(ctx context.Context, env hooks.Envelope) (json.RawMessage, error) {
	// What came before and was spooled is applied before what comes now.
	if empty, err := d.spool.Empty(); err == nil && !empty {
		if err := d.replaySpool(ctx); err != nil {
			return nil, err
		}
	}
	return d.applyHook(ctx, env, false)
}

// replaySpool applies spooled hooks in order, each once.
func (d *Daemon) replaySpool(ctx context.Context) error {
	n, err := d.spool.Drain(ctx, func(ctx context.Context, env hooks.Envelope) error {
		_, err := d.applyHook(ctx, env, true)
		if bad := (*Error)(nil); asError(err, &bad) && bad.Kind == KindInvalid {
			d.Log.Warn("spooled hook refused", "key", env.Key, "event", env.Event, "error", err)
			return nil // it will never be right; keeping it would hold up all that follow
		}
		return err
	})
	if n > 0 {
		d.Log.Info("spooled hooks replayed", "count", n)
	}
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

func (d *Daemon) badSpoolFile(path string, err error) {
	d.Log.Error("spooled hook unreadable; it was set aside", "path", path, "error", err)
	e := d.event("hook_unreadable", nil, nil, map[string]any{
		"path":    path,
		"message": "A spooled hook could not be read and was set aside at " + path + ": look at the file and delete it.",
	})
	e.Alert = true
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := d.commit(ctx, &Change{Events: []*Event{e}}); err != nil {
		d.Log.Error("event not stored", "type", e.Type, "error", err)
	}
}

func (d *Daemon) applyHook(ctx context.Context, env hooks.Envelope, replayed bool) (json.RawMessage, error) {
	p, err := hooks.Parse(env.Event, env.Body)
	if err != nil {
		return nil, &Error{Kind: KindInvalid, Code: "bad_hook", Message: "The hook was refused: " + err.Error()}
	}
	in := HookInput{
		Key: env.Key, Event: p.Event, Host: d.Host, PID: env.AgentPID, SessionID: p.SessionID,
		Body: env.Body, At: env.At, Replayed: replayed,
	}
	if in.At.IsZero() {
		in.At = time.Now()
	}
	in.At = in.At.UTC()
	if env.Launch != "" {
		sum := sha256.Sum256([]byte(env.Launch))
		in.LaunchHash = sum[:]
	}
	proc, err := tmux.FindProcess(in.PID)
	if err == nil {
		in.PIDStart = proc.Start
	}
	pane := d.paneOf(ctx, env)
	var kin *int64
	res, err := d.Store.RecordHook(ctx, in, func(tx HookTx) HookDecision {
		h := hookStep{d: d, in: in, p: p, tx: tx, proc: proc, pane: pane}
		out := h.decide()
		if tx.Agent != nil {
			kin = tx.Agent.PreviousAgentID
			if out.Applied {
				d.outdate(tx.Agent.ID)
			}
		}
		return out
	})
	if err != nil {
		return nil, fmt.Errorf("hook %s %s: %w", env.Event, env.Key, err)
	}
	if !res.Applied {
		d.Log.Debug("hook stored, not applied", "event", p.Event, "hook_id", res.HookID, "reason", res.Reason)
	}
	if res.AgentID != 0 {
		d.Wake(res.AgentID)
	}
	if kin != nil {
		d.Wake(*kin)
	}
	d.EventsChanged()
	return res.Output, nil
}

// paneOf finds the pane that a hook names, for agents that register by themselves. Nil: it is
// not in tmux, or the server does not know the pane.
func (d *Daemon) paneOf(ctx context.Context, env hooks.Envelope) *tmux.PaneInfo {
	if env.Launch != "" || env.Event != "SessionStart" && env.Event != "UserPromptSubmit" {
		return nil
	}
	socket, _, ok := tmux.FromEnv(env.Tmux)
	if !ok || env.Pane == "" {
		return nil
	}
	term, err := d.Terminal(socket)
	if err != nil {
		return nil
	}
	panes, err := term.List(ctx)
	if err != nil {
		return nil
	}
	for _, p := range panes {
		if p.Pane == env.Pane {
			return &p
		}
	}
	return nil
}
