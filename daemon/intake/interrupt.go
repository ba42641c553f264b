package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/words"
)

// tellInterrupted is how long a pause lasts before Interrupt tells the operator. A database that restarts answers sooner.
const tellInterrupted = 5 * time.Second

// readyLimit is how long Ready waits for the database and tmux.
const readyLimit = 3 * time.Second

// pause is a time in which the daemon does no work, because it does not hold the host's lock or the database takes no
// writes.
type pause struct {
	on    bool          // the pause lasts; Run ends it
	since time.Time     // when the pause began; zero: none has begun since the last Recovered
	why   *daemon.Error // its newest cause
	told  bool          // the operator was told that the pause began
}

// Interrupt begins a pause. If the pause lasts already, Interrupt only replaces its cause. Until Run is called, Ready
// returns that cause. Call Interrupt repeatedly during the pause: the first call after tellInterrupted tells the
// operator, without the database.
func (d *Daemon) Interrupt(ctx context.Context, cause error) {
	var why *daemon.Error
	if !errors.As(cause, &why) || why.Kind != daemon.KindUnavailable {
		why = &daemon.Error{Kind: daemon.KindUnavailable, Code: daemon.CodeDatabaseUnavailable, Cause: cause,
			Message: "The database does not answer; everything goes on when it is back"}
	}
	d.mu.Lock()
	in := &d.paused
	if in.since.IsZero() {
		in.since = time.Now()
	}
	in.on, in.why = true, why
	overdue := !in.told && time.Since(in.since) >= tellInterrupted
	in.told = in.told || overdue
	d.mu.Unlock()
	if !overdue {
		return
	}
	d.Log.Error("nothing is done until this is over", "error", why)
	ctx, cancel := context.WithTimeoutCause(ctx, tell.NotifyWithin, errors.New("notification took too long"))
	defer cancel()
	n := tell.Notification{Title: "understudy stands still", Message: why.Message + ": see `understudy doctor`.", Urgent: true}
	for _, p := range d.Parts {
		if p.Tell != nil {
			p.Tell(ctx, n)
		}
	}
}

// Interrupted returns the cause of the pause; nil: there is no pause.
func (d *Daemon) Interrupted() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.paused.on {
		return nil
	}
	return d.paused.why
}

// Recovered tells the operator that a pause is over, and applies the hooks that were spooled meanwhile. If there was no pause
// it does nothing.
func (d *Daemon) Recovered(ctx context.Context) error {
	d.mu.Lock()
	in := d.paused
	d.mu.Unlock()
	if in.since.IsZero() {
		return nil
	}
	what := "The database was away"
	switch in.why.Code {
	case daemon.CodeDatabaseReadOnly:
		what = "The database was read-only"
	case daemon.CodeDatabaseFull:
		what = "The database's disk was full"
	case daemon.CodeHostWaiting:
		what = "A session that an earlier daemon had left held this host's lock"
	}
	e := d.Event(event.DatabaseLost, nil, nil, map[string]any{"since": in.since.UTC(), "message": fmt.Sprintf(
		"%s for %s; nothing was done meanwhile, and everything goes on from where it stood: see `understudy doctor`.",
		what, words.Took(time.Since(in.since)))})
	e.Alert = true
	if err := d.Commit(ctx, &daemon.Change{Events: []*event.Event{e}}); err != nil {
		return err
	}
	d.mu.Lock()
	d.paused = pause{}
	d.mu.Unlock()
	return d.replaySpool(ctx)
}

// RanElsewhere tells the operator that a daemon on another machine, or with another data directory, ran this host last.
func (d *Daemon) RanElsewhere(ctx context.Context, machine, root string) error {
	e := d.Event(event.HostMoved, nil, nil, map[string]any{"machine": machine, "data_root": root, "message": fmt.Sprintf(
		"Another daemon (machine %s, data directory %s) has run host %s before this one, and has taken agents for ended that it did not find: "+
			"if both are to run, remove `host_id` from one of the data directories. See `understudy agent list --all`.", machine, root, d.Host)})
	e.Alert = true
	return d.Commit(ctx, &daemon.Change{Events: []*event.Event{e}})
}

// Ready returns why no work can be done: there is a pause, the database takes no writes, or tmux does not answer. nil: work
// can be done.
func (d *Daemon) Ready(ctx context.Context) error {
	if err := d.Interrupted(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readyLimit, errors.New("no answer in time"))
	defer cancel()
	if err := d.Store.TryWrite(ctx, d.Host); err != nil {
		var told *daemon.Error
		if errors.As(err, &told) {
			return err
		}
		return &daemon.Error{Kind: daemon.KindUnavailable, Code: daemon.CodeDatabaseUnavailable, Message: "The database does not answer", Cause: err}
	}
	term, err := d.OwnTerminal()
	if err == nil {
		_, err = term.List(ctx)
	}
	if err != nil {
		return &daemon.Error{Kind: daemon.KindUnavailable, Code: daemon.CodeTmuxUnavailable, Message: "tmux does not answer", Cause: err}
	}
	return nil
}
