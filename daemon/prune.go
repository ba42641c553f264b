package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// LogSettings say how long the log is kept, and hooks with it. Zero is for ever.
type LogSettings struct {
	MaxAge  time.Duration
	MaxRows int64 // events, the newest; hooks are kept by age alone
}

// DefaultLog are the settings that hold where the operator says nothing.
var DefaultLog = LogSettings{MaxAge: 720 * time.Hour, MaxRows: 1_000_000}

// HistorySettings say how long runs and agents are kept after their ends, with their handoffs. Zero is for ever.
// Documents are files, and are kept whatever this says.
type HistorySettings struct {
	MaxAge time.Duration
}

// LogFloor says how far the log has been pruned.
type LogFloor struct {
	PrunedTo int64 // id of the newest event that was deleted; of those before, some may be kept
	Oldest   int64 // id of the first event after it
}

// PruneLimits say what is not kept.
type PruneLimits struct {
	Before time.Time // what is older; zero: nothing is too old
	Rows   int64     // events beyond so many, the newest; 0: never too many
	Max    int       // how many are deleted at once; 0: 5000
}

// NeverPruned is how long events stay whatever the limits say: what agents may send is counted from them.
const NeverPruned = peerWindow

// Pruned is what was deleted.
type Pruned struct {
	Rows   int64
	Newest *time.Time // when the newest of it happened; nil: nothing was
}

// PrunedHistory is what was deleted of what had ended.
type PrunedHistory struct {
	Pipelines, Agents, Handoffs int64
}

const (
	pruneFirst = time.Minute // after the start, when there is more to do
	pruneEvery = 10 * time.Minute
	// historyBatch is smaller than that of events: much belongs to an agent.
	historyBatch = 200
	prunePause   = 50 * time.Millisecond // between two batches, for those who write
)

// runRetention deletes what the settings do not keep from time to time until ctx ends. Several hosts may do so at
// once.
func (d *Daemon) runRetention(ctx context.Context) {
	wait := time.NewTimer(pruneFirst)
	defer wait.Stop()
	for {
		if !ticked(ctx, wait.C) {
			return
		}
		if _, err := d.Prune(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn("what is not kept was not deleted to its end; trying again", "error", err, "in", pruneEvery.String())
		}
		wait.Reset(pruneEvery)
	}
}

// PruneReport is what was deleted, or would be.
type PruneReport struct {
	Events    int64 `json:"events"`
	Hooks     int64 `json:"hooks"` // those of agents that are deleted left out
	Agents    int64 `json:"agents"`
	Handoffs  int64 `json:"handoffs"`
	Pipelines int64 `json:"pipelines"`
}

// WouldPrune says what Prune would delete now.
func (d *Daemon) WouldPrune(ctx context.Context) (PruneReport, error) {
	limits, history := d.pruneLimits()
	return d.Store.WouldPrune(ctx, limits, history)
}

// pruneLimits are what the settings do not keep; a zero time: all history is kept.
func (d *Daemon) pruneLimits() (limits PruneLimits, history time.Time) {
	limits.Rows = d.Settings.Log.MaxRows
	now := d.now()
	if age := d.Settings.Log.MaxAge; age > 0 {
		limits.Before = now.Add(-age)
	}
	if age := d.Settings.History.MaxAge; age > 0 {
		history = now.Add(-age)
	}
	return limits, history
}

// Prune deletes what the settings do not keep of the log, of hooks and of what has ended, in small transactions, and
// logs an event if there was something. With an error, it returns what was deleted before it.
func (d *Daemon) Prune(ctx context.Context) (out PruneReport, err error) {
	limits, history := d.pruneLimits()
	gone, err := d.pruneHistory(ctx, history)
	out.Agents, out.Handoffs, out.Pipelines = gone.Agents, gone.Handoffs, gone.Pipelines
	if err != nil {
		return out, err
	}
	events, err := pruneAll(ctx, limits, d.Store.PruneEvents)
	var hooks Pruned
	if err == nil {
		hooks, err = pruneAll(ctx, limits, d.Store.PruneHooks)
	}
	out.Events, out.Hooks = events.Rows, hooks.Rows
	if events.Rows+hooks.Rows == 0 {
		return out, err
	}
	d.Log.Info("log pruned", "events", events.Rows, "hooks", hooks.Rows)
	// What is deleted stays so if the daemon ends in the middle of it.
	told, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	until := events.Newest
	if until == nil {
		until = hooks.Newest
	}
	e := d.event(event.LogPruned, nil, nil, map[string]any{"events": events.Rows, "hooks": hooks.Rows, "until": until})
	if failed := d.commit(told, &Change{Events: []*event.Event{e}}); failed != nil && err == nil {
		err = fmt.Errorf("log pruned: %w", failed)
	}
	return out, err
}

// pruneHistory deletes the runs and agents that ended before a time, unless that is zero.
func (d *Daemon) pruneHistory(ctx context.Context, before time.Time) (all PrunedHistory, err error) {
	if before.IsZero() {
		return all, nil
	}
	pause := time.NewTicker(prunePause)
	defer pause.Stop()
	for {
		var some PrunedHistory
		some, err = d.Store.PruneHistory(ctx, before, historyBatch)
		all.Pipelines, all.Agents, all.Handoffs = all.Pipelines+some.Pipelines, all.Agents+some.Agents, all.Handoffs+some.Handoffs
		if err != nil || some == (PrunedHistory{}) {
			break
		}
		if !ticked(ctx, pause.C) {
			err = ctx.Err()
			break
		}
	}
	return all, errors.Join(err, d.tellHistory(ctx, all, before))
}

// tellHistory logs what was deleted, which stays so if the daemon ends in the middle of it.
func (d *Daemon) tellHistory(ctx context.Context, all PrunedHistory, before time.Time) error {
	if all == (PrunedHistory{}) {
		return nil
	}
	d.Log.Info("history pruned", "agents", all.Agents, "handoffs", all.Handoffs, "runs", all.Pipelines)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	e := d.event(event.HistoryPruned, nil, nil, map[string]any{"agents": all.Agents, "handoffs": all.Handoffs, "pipelines": all.Pipelines, "until": before})
	return d.commit(ctx, &Change{Events: []*event.Event{e}})
}

// pruneAll deletes batch after batch until there is nothing more to delete.
func pruneAll(ctx context.Context, limits PruneLimits, prune func(context.Context, PruneLimits) (Pruned, error)) (all Pruned, err error) {
	pause := time.NewTicker(prunePause)
	defer pause.Stop()
	for limits.Rows > 0 || !limits.Before.IsZero() {
		some, err := prune(ctx, limits)
		if err != nil || some.Rows == 0 {
			return all, err
		}
		all.Rows += some.Rows
		if all.Newest == nil || some.Newest != nil && some.Newest.After(*all.Newest) {
			all.Newest = some.Newest
		}
		if !ticked(ctx, pause.C) {
			return all, ctx.Err()
		}
	}
	return all, nil
}

// LogFloor says how far the log has been pruned.
func (d *Daemon) LogFloor(ctx context.Context) (LogFloor, error) { return d.Store.LogFloor(ctx) }
