package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/words"
)

// tellInterrupted is how long an interruption may last before the operator is told: a database that
// restarts is back sooner.
const tellInterrupted = 5 * time.Second

// readyLimit bounds what Ready asks of the database.
const readyLimit = 3 * time.Second

// pause is a time in which nothing is done, because the host's lock is not held or the database takes no
// writes.
type pause struct {
	on    bool // until Run
	since time.Time
	why   *Error // the newest
	told  bool   // the operator, of its beginning
}

// Interrupt notes why nothing is done for now, which Ready answers until Run. After a few seconds it tells
// the operator, past the database. Call it again as long as it lasts.
func (d *Daemon) Interrupt(ctx context.Context, cause error) {
	var why *Error
	if !errors.As(cause, &why) || why.Kind != KindUnavailable {
		why = &Error{Kind: KindUnavailable, Code: CodeDatabaseUnavailable, Cause: cause,
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
	if _, err := d.Notifier.Notify(ctx, tell.Notification{Title: "understudy stands still", Message: why.Message + ": see `understudy doctor`.", Urgent: true}); err != nil {
		d.Log.Warn("operator not told on the desktop", "error", err)
	}
}

// Interrupted is why nothing is done for now; nil: work goes on.
func (d *Daemon) Interrupted() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.paused.on {
		return nil
	}
	return d.paused.why
}

// Recovered takes up what piled up during an interruption, and tells the operator that it is over. Without
// one it does nothing.
func (d *Daemon) Recovered(ctx context.Context) error {
	d.mu.Lock()
	in := d.paused
	d.mu.Unlock()
	if in.since.IsZero() {
		return nil
	}
	what := "The database was away"
	switch in.why.Code {
	case CodeDatabaseReadOnly:
		what = "The database was read-only"
	case CodeDatabaseFull:
		what = "The database's disk was full"
	case CodeHostWaiting:
		what = "A session that an earlier daemon had left held this host's lock"
	}
	e := d.event(event.DatabaseLost, nil, nil, map[string]any{"since": in.since.UTC(), "message": fmt.Sprintf(
		"%s for %s; nothing was done meanwhile, and everything goes on from where it stood: see `understudy doctor`.",
		what, words.Took(time.Since(in.since)))})
	e.Alert = true
	if err := d.commit(ctx, &Change{Events: []*event.Event{e}}); err != nil {
		return err
	}
	d.mu.Lock()
	d.paused = pause{}
	d.mu.Unlock()
	return d.replaySpool(ctx)
}

// HostWaiting says that the host's lock is held by a session of which it can't be known whether its daemon
// lives.
func HostWaiting(held string) error {
	return Errorf(KindUnavailable, CodeHostWaiting,
		"The daemon waits for %s, which holds this host and says nothing: it goes on when the database ends that session, within seconds if it was this version's", held)
}

// RanElsewhere tells the operator that another daemon has run this host before this one.
func (d *Daemon) RanElsewhere(ctx context.Context, machine, root string) error {
	e := d.event(event.HostMoved, nil, nil, map[string]any{"machine": machine, "data_root": root, "message": fmt.Sprintf(
		"Another daemon (machine %s, data directory %s) has run host %s before this one, and has taken agents for ended that it did not find: "+
			"if both are to run, remove `host_id` from one of the data directories. See `understudy agent list --all`.", machine, root, d.Host)})
	e.Alert = true
	return d.commit(ctx, &Change{Events: []*event.Event{e}})
}

// Ready says why nothing can be done: work is interrupted, the database takes no writes, or tmux does not
// answer.
func (d *Daemon) Ready(ctx context.Context) error {
	if err := d.Interrupted(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readyLimit, errors.New("no answer in time"))
	defer cancel()
	if err := d.Store.TryWrite(ctx, d.Host); err != nil {
		var told *Error
		if errors.As(err, &told) {
			return err
		}
		return &Error{Kind: KindUnavailable, Code: CodeDatabaseUnavailable, Message: "The database does not answer", Cause: err}
	}
	term, err := d.ownTerminal()
	if err == nil {
		_, err = term.List(ctx)
	}
	if err != nil {
		return &Error{Kind: KindUnavailable, Code: CodeTmuxUnavailable, Message: "tmux does not answer", Cause: err}
	}
	return nil
}
