package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/presence"
	"github.com/understudyd/understudy/daemon/words"
)

// The kinds of lanes. A lane of one of the first three has the id of a row.
const (
	AgentLane    = "agent"
	PipelineLane = "pipeline"
	TreeLane     = "work tree"
)

var (
	SweepLane = lane.Key{Kind: "sweep"} // wakes the lanes that have something to do
	SpoolLane = lane.Key{Kind: "spool"} // applies the spooled hooks, which may take long
)

// LaneOf returns the lane of an agent.
func LaneOf(id int64) lane.Key { return lane.Key{Kind: AgentLane, ID: id} }

// maxMoves is how many times in a row a lane does work before it lets the other lanes go first. It then comes back after
// a millisecond.
const maxMoves = 50

// RunLane does what is due in a lane until nothing is. If the sweep or the replay of the spool fails, the next sweep
// tries again.
func (d *Engine) RunLane(ctx context.Context, key lane.Key) (again time.Duration) {
	ctx = daemon.WithCaller(ctx, key.String())
	for range maxMoves {
		moved, again, err := d.workOn(ctx, key)
		switch {
		case ctx.Err() != nil:
			return 0
		case err != nil && Retryable(err):
			continue
		case errors.Is(err, daemon.ErrNotFound):
			d.ClearLaneErrors(key)
			return 0
		case err != nil:
			d.Log.Warn("work stopped; trying again", "for", key.String(), "error", err)
			d.countLaneError(ctx, key, err)
			return time.Second
		case !moved:
			d.ClearLaneErrors(key)
			return again
		}
	}
	return time.Millisecond
}

// workOn does the first thing that is due for the row of a lane.
func (d *Engine) workOn(ctx context.Context, key lane.Key) (moved bool, again time.Duration, err error) {
	for _, p := range d.Parts {
		for _, l := range p.Lanes {
			if l.Kind == key.Kind {
				return l.Do(ctx, key.ID)
			}
		}
	}
	return false, 0, fmt.Errorf("nobody works for %s", key)
}

// StuckAfter is how many times in a row the work of a lane may fail before the operator is told. The lane tries about
// once a second.
const StuckAfter = 10

// countLaneError counts an error of a lane. At the stuckAfter-th error in a row it tells the operator.
func (d *Engine) countLaneError(ctx context.Context, key lane.Key, cause error) {
	d.mu.Lock()
	d.laneErrors[key]++
	n := d.laneErrors[key]
	d.mu.Unlock()
	if n != StuckAfter {
		return
	}
	e := d.Event(event.WorktreeStuck, nil, nil, map[string]any{"message": fmt.Sprintf(
		"Nothing goes on for %s: %s. It is tried again each second; see `understudy doctor`.", key, words.TrimDot(cause.Error()))})
	switch key.Kind {
	case AgentLane:
		e.Type, e.AgentID = event.AgentStuck, &key.ID
	case PipelineLane:
		e.Type, e.PipelineID = event.PipelineStuck, &key.ID
	}
	e.Alert = true
	if err := d.Commit(ctx, &daemon.Change{Events: []*event.Event{e}}); err != nil && ctx.Err() == nil {
		d.Log.Warn("event not stored; trying again", "type", e.Type, "error", err)
		d.mu.Lock()
		d.laneErrors[key]-- // so that the next error tells the operator
		d.mu.Unlock()
	}
}

// ClearLaneErrors notes that the work of a lane has succeeded, or that nothing is left to do in it.
func (d *Engine) ClearLaneErrors(key lane.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.laneErrors, key)
}

// ShorterWait returns the shorter of two waits. 0 means no wait: then it returns the other one.
func ShorterWait(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Failures returns how many times in a row the work of a lane has failed.
func (d *Engine) Failures(key lane.Key) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.laneErrors[key]
}

// SweepEvery is the time between two sweeps. A wake may be lost, so the sweep reads from the rows which work is due.
const SweepEvery = presence.ProveEvery
