package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/storetext"
	"github.com/understudyd/understudy/daemon/tell"
)

// addPushes stores new pushes.
func (t *tx) addPushes(pushes []tell.Push) error {
	for _, p := range pushes {
		p.Host, p.Target, p.Key, p.Error = storetext.Text(p.Host), storetext.Text(p.Target), storetext.Text(p.Key), ""
		t.lastPush++
		p.ID, p.State, p.Attempts, p.MaybeTwice, p.EndedAt = t.lastPush, tell.PushPending, 0, false, nil
		p.CreatedAt, p.NextAt = t.at, micros(p.NextAt)
		if t.pushes.any(0, func(other *tell.Push) bool { return other.Host == p.Host && other.Key == p.Key }) {
			return violation("pushes_key_key")
		}
		if err := throughJSON(&p.Message); err != nil {
			return err
		}
		write(t, &t.pushes, p.ID, &p)
	}
	return nil
}

// throughJSON gives a message the form that a jsonb column keeps.
func throughJSON(m *tell.Message) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	*m = tell.Message{}
	return json.Unmarshal(storetext.JSON(raw), m)
}

const openPushes = 200

// OpenPushes returns the pushes to a target of a host that have not ended; the target "" stands for all.
func (s *Store) OpenPushes(ctx context.Context, host, target string) ([]tell.Push, error) {
	leave, err := s.enter(ctx, "open pushes")
	if err != nil {
		return nil, err
	}
	defer leave()
	return collect(&s.view, s.pushes.all(), openPushes, func(p *tell.Push) bool {
		return p.Host == host && (target == "" || p.Target == target) && !p.State.Ended()
	}), nil
}

// MovePush changes a push if its row is in the state from after that many attempts, and appends the event e.
func (s *Store) MovePush(ctx context.Context, p *tell.Push, from tell.PushState, attempts int, e *event.Event) (moved bool, err error) {
	leave, err := s.enter(ctx, "push %d", p.ID)
	if err != nil {
		return false, err
	}
	defer leave()
	t := s.begin(&daemon.Change{Events: e.List()})
	if row := s.pushes.get(p.ID); row == nil || row.State != from || row.Attempts != attempts {
		t.refuse(daemon.ErrMoved) // the event takes its id all the same
	} else {
		next := *row
		next.State, next.Attempts, next.NextAt, next.MaybeTwice, next.Error = p.State, p.Attempts, micros(p.NextAt), p.MaybeTwice, storetext.Text(p.Error)
		if next.State.Ended() {
			next.EndedAt = &t.at
		}
		write(t, &s.pushes, p.ID, &next)
	}
	switch err := t.end(t.appendEvents()); {
	case errors.Is(err, daemon.ErrMoved):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("push %d: %w", p.ID, err)
	}
	return true, nil
}

// PushReports says how the targets of a host do.
func (s *Store) PushReports(ctx context.Context, host string) ([]tell.PushReport, error) {
	leave, err := s.enter(ctx, "push reports")
	if err != nil {
		return nil, err
	}
	defer leave()
	out := []tell.PushReport{}
	for _, p := range s.pushes.all() {
		if p.Host != host {
			continue
		}
		i := slices.IndexFunc(out, func(r tell.PushReport) bool { return r.Target == p.Target })
		if i < 0 {
			i, out = len(out), append(out, tell.PushReport{Target: p.Target})
		}
		r := &out[i]
		if p.MaybeTwice {
			r.Twice++
		}
		if p.Error != "" {
			r.Error = p.Error
		}
		switch p.State {
		case tell.PushSent:
			r.SentAt = later(r.SentAt, p.EndedAt)
		case tell.PushFailed:
			r.FailedAt = later(r.FailedAt, p.EndedAt)
		default:
			r.Open++
			r.Retrying = r.Retrying || p.Error != ""
		}
	}
	slices.SortFunc(out, func(a, b tell.PushReport) int { return cmp.Compare(a.Target, b.Target) })
	return out, nil
}

// later returns a copy of the later time; nil counts as the earliest.
func later(a, b *time.Time) *time.Time {
	if a != nil && !b.After(*a) {
		return a
	}
	t := *b
	return &t
}

// PrunePushes deletes the pushes of a host that ended before a time.
func (s *Store) PrunePushes(ctx context.Context, host string, before time.Time) error {
	leave, err := s.enter(ctx, "prune pushes")
	if err != nil {
		return err
	}
	defer leave()
	for id, p := range s.pushes.snapshot() {
		if p.Host == host && p.EndedAt != nil && p.EndedAt.Before(micros(before)) {
			s.pushes.put(id, nil)
		}
	}
	return nil
}
