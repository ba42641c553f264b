package memory

import (
	"context"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// LogFloor returns how far the event log has been pruned.
func (s *Store) LogFloor(ctx context.Context) (daemon.LogFloor, error) {
	leave, err := s.enter(ctx, "log's floor")
	if err != nil {
		return daemon.LogFloor{}, err
	}
	defer leave()
	floor := daemon.LogFloor{PrunedTo: s.prunedTo, Oldest: s.prunedTo + 1}
	for id := range s.events.after(s.prunedTo) {
		floor.Oldest = id
		break
	}
	return floor, nil
}

const pruneBatch = 5000 // rows

// PruneEvents deletes some events beyond the limits, the oldest first. It keeps events that must stay.
func (s *Store) PruneEvents(ctx context.Context, l daemon.PruneLimits) (done daemon.Pruned, err error) {
	leave, err := s.enter(ctx, "events")
	if err != nil {
		return done, err
	}
	defer leave()
	young := s.now().Add(-daemon.NeverPruned)
	most := limitOr(l.Max, pruneBatch)
	if !l.Before.IsZero() {
		old := s.prunable(young, func(e *eventRow) bool { return e.At.Before(micros(l.Before)) })
		slices.SortStableFunc(old, func(a, b *eventRow) int { return a.At.Compare(b.At) })
		done = s.pruneEvents(old, most)
	}
	if many := len(s.events.rows) - int(l.Rows); done.Rows == 0 && l.Rows > 0 && many > 0 {
		newest := s.events.rows[many-1].id
		done = s.pruneEvents(s.prunable(young, func(e *eventRow) bool { return e.ID <= newest }), most)
	}
	return done, nil
}

// prunable returns the unwanted events that may be deleted: an event stays if it is young, if the operator has yet to
// be told of it, or if its handoff or pipeline is open.
func (s *Store) prunable(young time.Time, unwanted func(*eventRow) bool) (rows []*eventRow) {
	for _, e := range s.events.all() {
		if !unwanted(e) || !e.At.Before(young) || e.pending() {
			continue
		}
		if e.HandoffID != nil {
			if h := s.handoffs.get(*e.HandoffID); h != nil && h.Open() {
				continue
			}
		}
		if e.PipelineID != nil {
			if p := s.pipelines.get(*e.PipelineID); p != nil && p.Open() {
				continue
			}
		}
		rows = append(rows, e)
	}
	return rows
}

func (s *Store) pruneEvents(rows []*eventRow, most int) (done daemon.Pruned) {
	for _, e := range rows[:min(len(rows), most)] {
		s.events.put(e.ID, nil)
		s.prunedTo = max(s.prunedTo, e.ID)
		done = withOne(done, e.At)
	}
	return done
}

// withOne counts one more deleted row.
func withOne(done daemon.Pruned, at time.Time) daemon.Pruned {
	done.Rows++
	if done.Newest == nil || at.After(*done.Newest) {
		done.Newest = &at
	}
	return done
}

// PruneHooks deletes some hooks that are too old, the oldest first. It keeps hooks that must stay.
func (s *Store) PruneHooks(ctx context.Context, l daemon.PruneLimits) (done daemon.Pruned, err error) {
	leave, err := s.enter(ctx, "old hooks")
	if err != nil {
		return done, err
	}
	defer leave()
	if l.Before.IsZero() {
		return done, nil
	}
	before := micros(l.Before)
	var doomed []int64
	for id, h := range s.hooks.all() {
		if h.ReceivedAt.Before(before) && s.mayForget(h) {
			doomed = append(doomed, id)
		}
	}
	slices.SortStableFunc(doomed, func(a, b int64) int { return s.hooks.get(a).ReceivedAt.Compare(s.hooks.get(b).ReceivedAt) })
	for _, id := range doomed[:min(len(doomed), limitOr(l.Max, pruneBatch))] {
		gone := s.hooks.put(id, nil)
		delete(s.hookKeys, gone.key)
		done = withOne(done, gone.ReceivedAt)
	}
	return done, nil
}

// mayForget reports whether a hook may be deleted: no field of its agent names it.
func (s *Store) mayForget(h *hook) bool {
	a := s.agents.get(h.result.AgentID)
	if a == nil {
		return true
	}
	named := []int64{a.LastPrompt, a.LastStop, a.WorkStop, a.LastHook, a.CompactHook}
	return !slices.Contains(named, h.result.HookID)
}
