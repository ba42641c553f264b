package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
)

// LogSettings say how long events and hooks are kept. Zero: for ever.
type LogSettings struct {
	MaxAge  time.Duration // of events and hooks
	MaxRows int64         // how many events are kept, the newest; hooks are deleted by age only
}

// DefaultLog holds the settings that apply if the operator sets none.
var DefaultLog = LogSettings{MaxAge: 720 * time.Hour, MaxRows: 1_000_000}

// HistorySettings say how long agents, their handoffs and pipelines are kept after their ends. Zero: for ever. Documents are
// files, and are never deleted.
type HistorySettings struct {
	MaxAge time.Duration
}

// PruneForecast counts the rows that pruning would delete.
type PruneForecast interface {
	// WouldPrune counts the rows that repeated calls of PruneEvents and PruneHooks with l, and of PruneHistory with
	// history, would delete. If history is the zero time, it counts no history.
	WouldPrune(ctx context.Context, l PruneLimits, history time.Time) (PruneReport, error)
}

// LogFloor says how far the event log has been pruned.
type LogFloor struct {
	PrunedTo int64 // id of the newest event that was deleted; some before it may be kept
	Oldest   int64 // id of the first event after PrunedTo
}

// PruneLimits say which events and hooks are deleted.
type PruneLimits struct {
	Before time.Time // older ones are deleted; zero: none is deleted by age
	Rows   int64     // if there are more events than Rows, the oldest are deleted; 0: none is deleted by number
	Max    int       // how many one call deletes at most; 0: 5000
}

// NeverPruned is how long events are kept whatever the limits say. The daemon counts in them how many messages an agent
// has sent.
const NeverPruned = peerWindow

// Pruned is how much of the event log, or of the hooks, was deleted.
type Pruned struct {
	Rows   int64
	Newest *time.Time // when the newest deleted row was made; nil: none was deleted
}

// PrunedHistory is how many rows of ended pipelines, agents and handoffs were deleted.
type PrunedHistory struct {
	Pipelines, Agents, Handoffs int64
}

const (
	pruneFirst = time.Minute // from the daemon's start to the first deletion, because a start has more urgent work
	pruneEvery = 10 * time.Minute
	// historyBatch is smaller than a batch of events, because many other rows are deleted with each agent.
	historyBatch = 200
	prunePause   = 50 * time.Millisecond // between two batches, so that other writers are not held up
)

// runRetention calls Prune after pruneFirst, and then every pruneEvery, until ctx ends. Several hosts may prune at once.
func (d *Daemon) runRetention(ctx context.Context) {
	wait := time.NewTimer(pruneFirst)
	defer wait.Stop()
	for {
		if !lane.Ticked(ctx, wait.C) {
			return
		}
		if _, err := d.Prune(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn("what is not kept was not deleted to its end; trying again", "error", err, "in", pruneEvery.String())
		}
		wait.Reset(pruneEvery)
	}
}

// PruneReport is how many rows Prune has deleted or would delete.
type PruneReport struct {
	Events    int64 `json:"events"`
	Hooks     int64 `json:"hooks"` // without those that are deleted with their agents
	Agents    int64 `json:"agents"`
	Handoffs  int64 `json:"handoffs"`
	Pipelines int64 `json:"pipelines"`
}

// WouldPrune returns how much Prune would delete now.
func (d *Daemon) WouldPrune(ctx context.Context) (PruneReport, error) {
	limits, history := d.pruneLimits()
	return d.Store.WouldPrune(ctx, limits, history)
}

// pruneLimits returns the limits from the settings: those for the log, and the time before which history is deleted. If
// that time is zero, no history is deleted.
func (d *Daemon) pruneLimits() (limits PruneLimits, history time.Time) {
	limits.Rows = d.Settings().Log.MaxRows
	now := d.now()
	if age := d.Settings().Log.MaxAge; age > 0 {
		limits.Before = now.Add(-age)
	}
	if age := d.Settings().History.MaxAge; age > 0 {
		history = now.Add(-age)
	}
	return limits, history
}

// Prune deletes the history, events and hooks that the settings do not keep, in small transactions. If it deleted any it
// logs an event. If it fails it also returns how much was deleted before.
func (d *Daemon) Prune(ctx context.Context) (out PruneReport, err error) {
	limits, history := d.pruneLimits()
	gone, err := d.pruneHistory(ctx, history)
	out.Agents, out.Handoffs, out.Pipelines = gone.Agents, gone.Handoffs, gone.Pipelines
	if err == nil {
		err = d.pruneMirrors(ctx)
	}
	if err != nil {
		return out, err
	}
	events, err := pruneAll(ctx, limits, d.Store.PruneEvents)
	var hooks Pruned
	if err == nil {
		hooks, err = pruneAll(ctx, limits, d.Store.PruneHooks)
	}
	out.Events, out.Hooks = events.Rows, hooks.Rows
	if err == nil {
		_, err = pruneAll(ctx, limits, d.Store.PruneSamples)
	}
	if events.Rows+hooks.Rows == 0 {
		return out, err
	}
	d.Log.Info("log pruned", "events", events.Rows, "hooks", hooks.Rows)
	// Store the event even if the daemon is ending, because the deletion is committed.
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

// pruneHistory deletes the pipelines and agents that ended before a time. A zero time deletes none.
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
		if !lane.Ticked(ctx, pause.C) {
			err = ctx.Err()
			break
		}
	}
	return all, errors.Join(err, d.tellHistory(ctx, all, before))
}

// tellHistory logs the event of deleted history. It does so even while the daemon is ending, because the deletion is
// committed.
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

// pruneAll deletes batch after batch until nothing beyond the limits is left.
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
		if !lane.Ticked(ctx, pause.C) {
			return all, ctx.Err()
		}
	}
	return all, nil
}

// LogFloor returns how far the event log has been pruned.
func (d *Daemon) LogFloor(ctx context.Context) (LogFloor, error) { return d.Store.LogFloor(ctx) }
