package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

func preferences(t *testing.T, st daemon.Store) {
	get := func(host string) tell.Preferences {
		p := result(st.NotificationPreferences(t.Context(), host))(t)
		return p
	}
	// Each change sees the result of those before it, even if the first of them inserts the row.
	var wg sync.WaitGroup
	var flips atomic.Int64
	for range 9 {
		wg.Go(func() {
			_, err := st.ChangeNotificationPreferences(t.Context(), "h3", func(p *tell.Preferences) *event.Event {
				flips.Add(1)
				p.Completed = !p.Completed
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if p := get("h3"); flips.Load() != 9 || p.Completed || !p.Waiting {
		t.Errorf("after %d flips: %+v", flips.Load(), p)
	}

	// If the store refuses the event, it does not store the preferences either.
	const broken = "no such host\x00"
	_, err := st.ChangeNotificationPreferences(t.Context(), "h4", func(p *tell.Preferences) *event.Event {
		p.Waiting = false
		return &event.Event{Type: "t", Host: "h4", Notice: broken}
	})
	if err == nil || errors.Is(err, daemon.ErrMoved) {
		t.Errorf("an event that can't be stored: %v", err)
	}
	equal(t, "after a failure", get("h4"), tell.DefaultPreferences)
}

func hostRoot(t *testing.T, h Harness) {
	st := h.Store
	if _, err := st.HostRoot(t.Context(), "h1"); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("host that was never seen: %v, want ErrNotFound", err)
	}
	h.SetHost(t, "h1", "/srv/data")
	if root, err := st.HostRoot(t.Context(), "h1"); root != "/srv/data" || err != nil {
		t.Errorf("data directory %q, %v; want /srv/data", root, err)
	}
}

// tryWriteChangesNothing: TryWrite changes no row, and adds no row for a host that was never seen.
func tryWriteChangesNothing(t *testing.T, h Harness) {
	h.SetHost(t, "h1", "/srv/data")
	before := everything(t, h.Store)
	for _, host := range []string{"h1", "h2"} {
		if err := h.Store.TryWrite(t.Context(), host); err != nil {
			t.Errorf("host %s: %v", host, err)
		}
	}
	equal(t, "what can be read", everything(t, h.Store), before)
	if _, err := h.Store.HostRoot(t.Context(), "h2"); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("the other host was seen: %v", err)
	}
}
