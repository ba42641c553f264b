package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
)

// Audit returns events, the newest first, 100 where there is no limit.
func (s *Store) Audit(ctx context.Context, f daemon.AuditFilter) ([]daemon.Event, error) {
	leave, err := s.enter(ctx, "audit")
	if err != nil {
		return nil, err
	}
	defer leave()
	text, persona := strings.ToLower(storetext.Text(f.Text)), storetext.Text(f.Persona)
	since, until := micros(f.Since), micros(f.Until)
	return collectEvents(s, s.events.newest(), limitOr(f.Limit, 100), func(e *event) bool {
		return (f.Before == 0 || e.ID < f.Before) &&
			(len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) &&
			strings.HasPrefix(e.Type, f.TypePrefix) &&
			of(e.AgentID, f.AgentID) && of(e.HandoffID, f.HandoffID) && of(e.PipelineID, f.PipelineID) &&
			(f.Host == "" || e.Host == f.Host) &&
			(f.Persona == "" || s.plays(e.AgentID, persona)) &&
			(f.Since.IsZero() || !e.At.Before(since)) &&
			(f.Until.IsZero() || e.At.Before(until)) &&
			(strings.Contains(strings.ToLower(e.Type), text) || strings.Contains(strings.ToLower(string(e.Payload)), text))
	}), nil
}

func (s *Store) plays(agentID *int64, persona string) bool {
	if agentID == nil {
		return false
	}
	a := s.agents.get(*agentID)
	return a != nil && a.Persona != nil && *a.Persona == persona
}

// LogFloor says how far the log has been pruned.
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

// PruneEvents deletes some events that l does not want, the oldest first, but for those that must stay.
func (s *Store) PruneEvents(ctx context.Context, l daemon.PruneLimits) (done daemon.Pruned, err error) {
	leave, err := s.enter(ctx, "events")
	if err != nil {
		return done, err
	}
	defer leave()
	young := s.now().Add(-daemon.NeverPruned)
	most := limitOr(l.Max, pruneBatch)
	if !l.Before.IsZero() {
		old := s.prunable(young, func(e *event) bool { return e.At.Before(micros(l.Before)) })
		slices.SortStableFunc(old, func(a, b *event) int { return a.At.Compare(b.At) })
		done = s.pruneEvents(old, most)
	}
	if many := len(s.events.rows) - int(l.Rows); done.Rows == 0 && l.Rows > 0 && many > 0 {
		newest := s.events.rows[many-1].id
		done = s.pruneEvents(s.prunable(young, func(e *event) bool { return e.ID <= newest }), most)
	}
	return done, nil
}

// prunable are the events that may go: they are not wanted and not young, the operator need not be told of
// them any more, and what they belong to has ended.
func (s *Store) prunable(young time.Time, unwanted func(*event) bool) (rows []*event) {
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

func (s *Store) pruneEvents(rows []*event, most int) (done daemon.Pruned) {
	for _, e := range rows[:min(len(rows), most)] {
		s.events.put(e.ID, nil)
		s.prunedTo = max(s.prunedTo, e.ID)
		done = withOne(done, e.At)
	}
	return done
}

// withOne counts a row that was deleted.
func withOne(done daemon.Pruned, at time.Time) daemon.Pruned {
	done.Rows++
	if done.Newest == nil || at.After(*done.Newest) {
		done.Newest = &at
	}
	return done
}

// PruneHooks deletes some hooks that are too old, the oldest first, but for those that must stay.
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

// mayForget reports whether a hook may go: its agent names it no more.
func (s *Store) mayForget(h *hook) bool {
	a := s.agents.get(h.result.AgentID)
	if a == nil {
		return true
	}
	named := []int64{a.LastPrompt, a.LastStop, a.WorkStop, a.LastHook, a.CompactHook}
	return !slices.Contains(named, h.result.HookID)
}
