package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/understudyd/understudy/data"
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

// replaySpool applies spooled hooks in order, each once. One that can't be applied, for a reason
// that will not pass, is set aside: it would hold up all that follow, of every agent.
func (d *Daemon) replaySpool(ctx context.Context) error {
	n, err := d.spool.Drain(ctx, func(ctx context.Context, env hooks.Envelope) error {
		var err error
		for range 3 {
			if _, err = d.applyHook(ctx, env, true); err == nil || passing(ctx, err) {
				return err
			}
		}
		return d.setAside(env, err)
	})
	if n > 0 {
		d.Log.Info("spooled hooks replayed", "count", n)
	}
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// passing reports whether an error of a hook may be gone the next time.
func passing(ctx context.Context, err error) bool {
	var e *Error
	return ctx.Err() != nil || errors.Is(err, ErrMoved) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &e) && e.Kind == KindUnavailable
}

// setAside keeps a hook that can't be applied where a person finds it.
func (d *Daemon) setAside(env hooks.Envelope, why error) error {
	b, err := json.Marshal(env)
	if err != nil {
		return err
	}
	dir := filepath.Join(d.Data.Spool(), "bad")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.Base(env.Key)+".json")
	if err := data.WriteFile(path, b, 0o600); err != nil {
		return err
	}
	if err := d.storeWarning("hook_set_aside", asideMessage(path, why)); err != nil {
		// A database that stores nothing is no fault of the hook's: it stays in the spool.
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func (d *Daemon) badSpoolFile(path string, err error) {
	d.warn("hook_set_aside", asideMessage(path, err))
}

func asideMessage(path string, why error) string {
	return fmt.Sprintf("A hook could not be applied and was set aside (%s): look at the file and delete it: `less '%s'`.", trimDot(why.Error()), path)
}

// warn tells the operator of something that belongs to no agent.
func (d *Daemon) warn(typ, message string) {
	if err := d.storeWarning(typ, message); err != nil {
		d.Log.Error("event not stored", "type", typ, "message", message, "error", err)
	}
}

func (d *Daemon) storeWarning(typ, message string) error {
	e := d.event(typ, nil, nil, map[string]any{"message": message})
	e.Alert = true
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return d.commit(ctx, &Change{Events: []*Event{e}})
}

// refuse answers a hook whose body can't be understood. The first of its kind is told to the
// operator: a newer runtime may send all of them so.
func (d *Daemon) refuse(event string, err error) *Error {
	d.mu.Lock()
	told := d.refused[event]
	d.refused[event] = true
	d.mu.Unlock()
	if !told {
		d.warn("hook_refused", fmt.Sprintf("A %s hook was refused (%s): agents' states may be wrong; see with `understudy --version` whether there is a newer one.",
			firstLine(event, 64), trimDot(firstLine(err.Error(), 200))))
	}
	return &Error{Kind: KindInvalid, Code: "bad_hook", Message: "The hook was refused: " + err.Error()}
}

// maxSession is the longest session id that is taken, in bytes. Real ones are UUIDs.
const maxSession = 200

func (d *Daemon) applyHook(ctx context.Context, env hooks.Envelope, replayed bool) (json.RawMessage, error) {
	p, err := hooks.Parse(env.Event, env.Body)
	if err == nil && len(p.SessionID) > maxSession {
		err = fmt.Errorf("session_id has %d bytes, more than the %d that are taken", len(p.SessionID), maxSession)
	}
	if err != nil {
		d.counts.hook(env.Event, HookRefused)
		return nil, d.refuse(env.Event, err)
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
		in.LaunchHash = launchHash(env.Launch)
	}
	proc, err := tmux.FindProcess(in.PID)
	if err == nil {
		in.PIDStart = proc.Start
	}
	pane := d.paneOf(ctx, env, proc)
	around, err := d.agentAround(ctx, env, proc)
	if err != nil {
		return nil, fmt.Errorf("hook %s %s: %w", env.Event, env.Key, err)
	}
	command := isCommand(p, replayed)
	var from Agent    // what of it tells whom to wake
	var change Change // what was decided
	res, err := d.Store.RecordHook(ctx, in, func(tx HookTx) HookDecision {
		h := hookStep{d: d, in: in, p: p, tx: tx, proc: proc, pane: pane, around: around, command: command}
		out := h.decide()
		change = out.Change
		if tx.Agent != nil {
			from.PreviousAgentID, from.PipelineID = tx.Agent.PreviousAgentID, tx.Agent.PipelineID
			if out.Applied {
				d.outdate(tx.Agent.ID)
			}
		}
		return out
	})
	if err != nil {
		return nil, fmt.Errorf("hook %s %s: %w", env.Event, env.Key, err)
	}
	d.counts.recorded(p.Event, res, &change)
	if !res.Applied {
		d.Log.Debug("hook stored, not applied", "event", p.Event, "hook_id", res.HookID, "reason", res.Reason)
	}
	if res.AgentID != 0 {
		d.Wake(res.AgentID)
	}
	d.wakeKin(&from)
	d.EventsChanged()
	if command && res.Applied && !res.Again {
		return d.answerCommand(ctx, res.AgentID, p.Prompt)
	}
	return res.Output, nil
}

// mayRegister reports whether a hook can make an agent of a session that a person started.
func mayRegister(env hooks.Envelope) bool {
	return env.Launch == "" && (env.Event == hooks.SessionStart || env.Event == hooks.UserPromptSubmit)
}

// agentAround returns the active agent inside whose process a session runs, 0 for none: a
// "claude -p" that an agent starts is no agent of its own.
func (d *Daemon) agentAround(ctx context.Context, env hooks.Envelope, proc tmux.Process) (int64, error) {
	if !mayRegister(env) || proc.PID == 0 {
		return 0, nil
	}
	active, err := d.Store.Agents(ctx, AgentFilter{Host: d.Host, Active: true, Limit: 10_000})
	if err != nil {
		return 0, err
	}
	for i := range active {
		if a := &active[i]; a.PID != 0 && a.PID != proc.PID && a.Process().Alive() && proc.IsDescendantOf(a.PID) {
			return a.ID, nil
		}
	}
	return 0, nil
}

// ours reports whether a process belongs to the daemon's own user. Where the system does not tell,
// signals will be refused anyway.
func ours(p tmux.Process) bool {
	fi, err := os.Stat("/proc/" + strconv.Itoa(p.PID))
	if err != nil {
		return true
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) == os.Geteuid()
}

// paneOf finds the pane that a hook names, for agents that register by themselves. Nil: it is
// not in tmux. What the environment says is checked, because it may be stale or made up: the server
// must be the one that was meant, and the process must run in that pane.
func (d *Daemon) paneOf(ctx context.Context, env hooks.Envelope, proc tmux.Process) *tmux.PaneInfo {
	if !mayRegister(env) || proc.PID == 0 {
		return nil
	}
	socket, server, ok := tmux.FromEnv(env.Tmux)
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
		if p.Pane == env.Pane && p.ServerPID == server && proc.IsDescendantOf(p.PID) {
			return &p
		}
	}
	return nil
}
