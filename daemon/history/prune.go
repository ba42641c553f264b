package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
)

const (
	pruneFirst = time.Minute // from the daemon's start to the first deletion, because a start has more urgent work
	pruneEvery = 10 * time.Minute
	// historyBatch is smaller than a batch of events, because many other rows are deleted with each agent.
	historyBatch = 200
	prunePause   = 50 * time.Millisecond // between two batches, so that other writers are not held up
)

// runRetention calls Prune after pruneFirst, and then every pruneEvery, until ctx ends. Several hosts may prune at once.
func (d *Room) runRetention(ctx context.Context) {
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

// WouldPrune returns how much Prune would delete now.
func (d *Room) WouldPrune(ctx context.Context) (daemon.PruneReport, error) {
	limits, history := d.pruneLimits()
	return d.Store.WouldPrune(ctx, limits, history)
}

// pruneLimits returns the limits from the settings: those for the log, and the time before which history is deleted. If
// that time is zero, no history is deleted.
func (d *Room) pruneLimits() (limits daemon.PruneLimits, history time.Time) {
	limits.Rows = d.Settings().Log.MaxRows
	now := d.Now()
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
func (d *Room) Prune(ctx context.Context) (out daemon.PruneReport, err error) {
	limits, history := d.pruneLimits()
	gone, err := d.pruneHistory(ctx, history)
	out.Agents, out.Handoffs, out.Pipelines = gone.Agents, gone.Handoffs, gone.Pipelines
	if err == nil {
		err = d.PruneMirrors(ctx)
	}
	if err != nil {
		return out, err
	}
	events, err := pruneAll(ctx, limits, d.Store.PruneEvents)
	var hooks daemon.Pruned
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
	e := d.Event(event.LogPruned, nil, nil, map[string]any{"events": events.Rows, "hooks": hooks.Rows, "until": until})
	if failed := d.Commit(told, &daemon.Change{Events: []*event.Event{e}}); failed != nil && err == nil {
		err = fmt.Errorf("log pruned: %w", failed)
	}
	return out, err
}

// pruneHistory deletes the pipelines and agents that ended before a time. A zero time deletes none.
func (d *Room) pruneHistory(ctx context.Context, before time.Time) (all daemon.PrunedHistory, err error) {
	if before.IsZero() {
		return all, nil
	}
	pause := time.NewTicker(prunePause)
	defer pause.Stop()
	for {
		var some daemon.PrunedHistory
		some, err = d.Store.PruneHistory(ctx, before, historyBatch)
		all.Pipelines, all.Agents, all.Handoffs = all.Pipelines+some.Pipelines, all.Agents+some.Agents, all.Handoffs+some.Handoffs
		if err != nil || some == (daemon.PrunedHistory{}) {
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
func (d *Room) tellHistory(ctx context.Context, all daemon.PrunedHistory, before time.Time) error {
	if all == (daemon.PrunedHistory{}) {
		return nil
	}
	d.Log.Info("history pruned", "agents", all.Agents, "handoffs", all.Handoffs, "runs", all.Pipelines)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	e := d.Event(event.HistoryPruned, nil, nil, map[string]any{"agents": all.Agents, "handoffs": all.Handoffs, "pipelines": all.Pipelines, "until": before})
	return d.Commit(ctx, &daemon.Change{Events: []*event.Event{e}})
}

// pruneAll deletes batch after batch until nothing beyond the limits is left.
func pruneAll(ctx context.Context, limits daemon.PruneLimits, prune func(context.Context, daemon.PruneLimits) (daemon.Pruned, error)) (all daemon.Pruned, err error) {
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
func (d *Room) LogFloor(ctx context.Context) (daemon.LogFloor, error) { return d.Store.LogFloor(ctx) }
