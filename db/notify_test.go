package db

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestPendingAlertsAreInOrder: alerts first; then the notices of all agents and runs in turn, so that
// one with many does not keep others out.
func TestPendingAlertsAreInOrder(t *testing.T) {
	t.Parallel()
	db := open(t)
	a, b := newAgent(t, db, nil), newAgent(t, db, nil)
	notice := func(typ string, agent *daemon.Agent) *daemon.Event {
		return &daemon.Event{Type: typ, Host: "h1", AgentID: &agent.ID, Notice: daemon.NoticeCompleted}
	}
	commit(t, db, &daemon.Change{Events: []*daemon.Event{
		notice("a1", a), notice("a2", a), notice("a3", a), notice("b1", b), notice("b2", b),
		{Type: "alert1", Host: "h1", Alert: true, AgentID: &b.ID}, {Type: "alert2", Host: "h1", Alert: true, AgentID: &a.ID},
		{Type: "alert3", Host: "h1", Alert: true, AgentID: &b.ID},
	}})
	for limit, want := range map[int]string{
		0: "alert1 alert2 alert3 a1 b1 a2 b2 a3",
		5: "alert1 alert2 alert3 a1 b1",
		2: "alert1 alert2",
	} {
		events, err := db.PendingAlerts(t.Context(), "h1", limit)
		var got []string
		for _, e := range must(t, events, err) {
			got = append(got, e.Type)
		}
		equal(t, "pending", strings.Join(got, " "), want)
	}
}

func TestPreferences(t *testing.T) {
	t.Parallel()
	db := open(t)
	get := func(host string) daemon.NotificationPreferences {
		p, err := db.NotificationPreferences(t.Context(), host)
		return must(t, p, err)
	}
	equal(t, "at first", get("h1"), daemon.DefaultPreferences)
	p, err := db.ChangeNotificationPreferences(t.Context(), "h1", func(p *daemon.NotificationPreferences) *daemon.Event {
		p.Waiting = false
		return &daemon.Event{Type: "changed", Host: "h1"}
	})
	equal(t, "changed", get("h1"), must(t, p, err))
	if p.Waiting || !p.Completed || p.UpdatedAt == nil || rowCount(t, db, "events") != 1 {
		t.Errorf("changed: %+v, %d events", p, rowCount(t, db, "events"))
	}
	equal(t, "of another host", get("h2"), daemon.DefaultPreferences)

	// Each sees what those before it have made, also when the row is new.
	var wg sync.WaitGroup
	var flips atomic.Int64
	for range 9 {
		wg.Go(func() {
			_, err := db.ChangeNotificationPreferences(t.Context(), "h3", func(p *daemon.NotificationPreferences) *daemon.Event {
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

	// What cannot be stored whole is not stored at all.
	const broken = "no such host\x00"
	_, err = db.ChangeNotificationPreferences(t.Context(), "h4", func(p *daemon.NotificationPreferences) *daemon.Event {
		p.Waiting = false
		return &daemon.Event{Type: "t", Host: "h4", Notice: broken}
	})
	if err == nil || errors.Is(err, daemon.ErrMoved) {
		t.Errorf("an event that can't be stored: %v", err)
	}
	equal(t, "after a failure", get("h4"), daemon.DefaultPreferences)
}
