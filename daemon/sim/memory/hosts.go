package memory

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/storetext"
	"github.com/understudyd/understudy/daemon/tell"
)

// SetHost stores the data directory of a host.
func (s *Store) SetHost(host, dataRoot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roots[host] = storetext.Text(dataRoot)
}

// HostRoot returns the data directory of a host; [daemon.ErrNotFound] if [Store.SetHost] never stored it.
func (s *Store) HostRoot(ctx context.Context, host string) (string, error) {
	leave, err := s.enter(ctx, "host %s: data directory", host)
	if err != nil {
		return "", err
	}
	defer leave()
	root, seen := s.roots[host]
	if !seen {
		return "", fmt.Errorf("host %s: data directory: %w", host, daemon.ErrNotFound)
	}
	return root, nil
}

// TryWrite succeeds, because memory always takes writes.
func (s *Store) TryWrite(ctx context.Context, host string) error {
	leave, err := s.enter(ctx, "write to the row of host %s", host)
	if err != nil {
		return err
	}
	leave()
	return nil
}

// NotificationPreferences returns a host's preferences, or [tell.DefaultPreferences] if none were set.
func (s *Store) NotificationPreferences(ctx context.Context, host string) (tell.Preferences, error) {
	leave, err := s.enter(ctx, "preferences of host %.64q", host)
	if err != nil {
		return tell.Preferences{}, err
	}
	defer leave()
	if p, set := s.preferences[storetext.Text(host)]; set {
		return clone(p), nil
	}
	return tell.DefaultPreferences, nil
}

// ChangeNotificationPreferences stores a host's preferences as change leaves them, and appends the event that change
// returns if it is not nil, in one transaction. It calls change while no other call can change the store.
func (s *Store) ChangeNotificationPreferences(
	ctx context.Context, host string, change func(*tell.Preferences) *event.Event,
) (tell.Preferences, error) {
	leave, err := s.enter(ctx, "preferences of host %.64q", host)
	if err != nil {
		return tell.Preferences{}, err
	}
	defer leave()
	t := s.begin(&daemon.Change{})
	key := storetext.Text(host)
	p, set := s.preferences[key]
	if p = clone(p); !set {
		p = tell.Preferences{Waiting: tell.DefaultPreferences.Waiting, Completed: tell.DefaultPreferences.Completed, UpdatedAt: &t.at}
	}
	if e := change(&p); e != nil {
		t.c.Events = []*event.Event{e}
	}
	p.UpdatedAt = &t.at
	if err := t.end(t.appendEvents()); err != nil {
		return tell.Preferences{}, fmt.Errorf("preferences of host %.64q: %w", host, err)
	}
	s.preferences[key] = tell.Preferences{Waiting: p.Waiting, Completed: p.Completed, UpdatedAt: &t.at}
	return p, nil
}
