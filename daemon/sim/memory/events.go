package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// collectEvents returns the events that is accepts, at most limit, never nil.
func collectEvents(s *view, rows iter.Seq2[int64, *eventRow], limit int, is func(*eventRow) bool) []event.Event {
	out := []event.Event{}
	for _, e := range collect(s, rows, limit, is) {
		out = append(out, e.Event)
	}
	return out
}

// matches reports whether id is the wanted one; 0 wants any id or none.
func matches(id *int64, wanted int64) bool { return wanted == 0 || id != nil && *id == wanted }

// Events returns the events after an id, in order.
func (s *Store) Events(ctx context.Context, f event.Filter) ([]event.Event, error) {
	leave, err := s.enter(ctx, "events after %d", f.After)
	if err != nil {
		return nil, err
	}
	defer leave()
	return collectEvents(&s.view, s.events.after(f.After), limitOr(f.Limit, 500), func(e *eventRow) bool {
		return (len(f.Types) == 0 || slices.Contains(f.Types, string(e.Type))) &&
			matches(e.AgentID, f.AgentID) && matches(e.HandoffID, f.HandoffID) && matches(e.PipelineID, f.PipelineID)
	}), nil
}

// LastEventID returns the newest id, or 0 if there was never an event. It stays the same if that event is pruned.
func (s *Store) LastEventID(ctx context.Context) (int64, error) {
	leave, err := s.enter(ctx, "last event")
	if err != nil {
		return 0, err
	}
	defer leave()
	for id := range s.events.newest() {
		return max(id, s.prunedTo), nil
	}
	return s.prunedTo, nil
}

// pending reports whether the operator has yet to be told of an event.
func (e *eventRow) pending() bool { return (e.Alert || e.Notice != event.NoticeNone) && !e.alerted }

// PendingAlerts returns the host's events with Alert or Notice that were not marked: first the alerts, in order, then
// the first notice of each agent (or of each pipeline, for an event without an agent), then the second ones.
func (s *Store) PendingAlerts(ctx context.Context, host string, limit int) ([]event.Event, error) {
	leave, err := s.enter(ctx, "pending alerts")
	if err != nil {
		return nil, err
	}
	defer leave()
	pending := collectEvents(&s.view, s.events.all(), -1, func(e *eventRow) bool { return e.Host == host && e.pending() })
	turn, turns := map[int64]int{}, map[int64]int{} // by event id; by agent id, or by pipeline id as a negative number
	for _, e := range pending {
		if e.Alert {
			continue
		}
		var topic int64
		switch {
		case e.AgentID != nil:
			topic = *e.AgentID
		case e.PipelineID != nil:
			topic = -*e.PipelineID
		}
		turns[topic]++
		turn[e.ID] = turns[topic]
	}
	slices.SortStableFunc(pending, func(a, b event.Event) int { return cmp.Compare(turn[a.ID], turn[b.ID]) })
	return pending[:min(len(pending), limitOr(limit, 100))], nil
}

// MarkAlerted marks events of which the operator was told, and appends the event told if it is not nil, and the pushes. If one of
// them is not pending, it writes nothing and returns [daemon.ErrMoved].
func (s *Store) MarkAlerted(ctx context.Context, ids []int64, told *event.Event, pushes ...tell.Push) error {
	leave, err := s.enter(ctx, "alerts %v", ids)
	if err != nil {
		return err
	}
	defer leave()
	t := s.begin(&daemon.Change{Events: told.List()})
	for _, id := range ids {
		e := s.events.get(id)
		if e == nil || !e.pending() {
			t.refuse(fmt.Errorf("alerts %v: %w", ids, daemon.ErrMoved))
			continue
		}
		marked := *e
		marked.alerted = true
		write(t, &s.events, id, &marked)
	}
	if err := t.end(inOrder(func() error { return t.addPushes(pushes) }, t.appendEvents)); err != nil {
		return named(err)
	}
	return nil
}
