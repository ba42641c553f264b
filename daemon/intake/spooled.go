package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
)

// replaySpool applies spooled hooks in order, each once.
func (d *Daemon) replaySpool(ctx context.Context) error {
	n, err := d.Spool.Drain(ctx, d.replay)
	if n > 0 {
		d.Log.Info("spooled hooks replayed", "count", n)
	}
	return d.spoolError(err)
}

// replayBefore applies the spooled hooks of an agent before the agent's live hook, because an agent's hooks are applied
// in order. It does not wait for hooks of other agents. Meanwhile the agent waits for its live hook. If replayBefore
// takes a quarter of that hook's time, it refuses the live hook, whose sender then puts it into the spool behind the
// others.
func (d *Daemon) replayBefore(ctx context.Context, live hooks.Envelope) error {
	if empty, err := d.Spool.Empty(); err != nil || empty {
		return d.spoolError(err)
	}
	limit, cancel := context.WithTimeout(ctx, hooks.AnswerTimeout(live.Event)/4)
	defer cancel()
	_, err := d.Spool.DrainBefore(limit, live, d.replay)
	if err != nil && limit.Err() != nil && ctx.Err() == nil {
		return daemon.Errorf(daemon.KindUnavailable, daemon.CodeHooksSpooled, "Hooks that this agent has spooled before are still being applied")
	}
	return d.spoolError(err)
}

// replay applies a spooled hook. If the hook fails for a reason that will not pass, replay sets it aside, because it
// would hold up all hooks behind it.
func (d *Daemon) replay(ctx context.Context, env hooks.Envelope) error {
	var err error
	for range 3 {
		var c claim
		if c, err = d.claimOf(ctx, env, nil, true); err == nil {
			_, _, err = d.applyHook(ctx, env, c, true)
		}
		if err == nil || passing(ctx, err) {
			return err
		}
	}
	return d.setAside(env, err)
}

// applySpooledFor applies the spooled hooks before something is done that they may forbid, and reports whether they have changed an agent. While the
// database was away, an agent whose pane is not there may have begun its session, and even have worked and ended: a second pane would give
// it its first prompt again. And an agent that is about to be ended may have been given work.
func (d *Daemon) applySpooledFor(ctx context.Context, a *daemon.Agent) (told bool, err error) {
	if empty, err := d.Spool.Empty(); err != nil || empty {
		return false, errors.Join(err, d.spoolError(err))
	}
	if err := d.replaySpool(ctx); err != nil {
		return false, err
	}
	now, err := d.Store.Agent(ctx, a.ID)
	return err == nil && now.Rev != a.Rev, err
}

// spoolError handles the error of a look into the spool. If the directory can't be read, spoolError returns nil, so that
// live hooks are not held up, and tells the operator. It does not tell the operator again until the directory could be
// read in between.
func (d *Daemon) spoolError(err error) error {
	unreadable := errors.Is(err, hooks.ErrUnreadable)
	d.mu.Lock()
	told := d.spoolTold
	d.spoolTold = unreadable
	d.mu.Unlock()
	switch {
	case err == nil:
		return nil
	case !unreadable:
		return fmt.Errorf("spool: %w", err)
	case told:
		return nil
	}
	err = d.StoreAlert(event.SpoolUnreadable, fmt.Sprintf("The spool %s can't be read (%s): hooks that came while the daemon was away are not applied, and agents' states may be wrong; see `ls -ld '%[1]s'`, and once it can be read everything goes on by itself.",
		d.Data.Spool(), words.TrimDot(err.Error())))
	if err != nil {
		d.mu.Lock()
		d.spoolTold = false
		d.mu.Unlock()
		d.Log.Error("operator not told that the spool can't be read; trying again", "error", err)
	}
	return nil
}

// passing reports whether a hook that failed with err may succeed the next time.
func passing(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, daemon.ErrMoved) || errors.Is(err, context.DeadlineExceeded) || daemon.Unavailable(err)
}

// setAside moves a hook that can't be applied into the folder bad of the spool, and tells the operator.
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
	if err := d.StoreAlert(event.HookSetAside, asideMessage(path, why)); err != nil {
		// Leave the hook in the spool: the database stores nothing, so the hook may not be at fault.
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// badSpoolFile tells the operator about a file in the spool that is not a hook, or can't be read.
func (d *Daemon) badSpoolFile(path string, why error) error {
	return d.StoreAlert(event.HookSetAside, fmt.Sprintf(
		"A spooled hook could not be taken, and holds up nothing (%s): look at the file and delete it, or mend it and move it back into the spool: `ls -l '%s'`.",
		words.TrimDot(why.Error()), path))
}

func asideMessage(path string, why error) string {
	return fmt.Sprintf("A hook could not be applied and was set aside (%s): look at the file and delete it: `less '%s'`.", words.TrimDot(why.Error()), path)
}
