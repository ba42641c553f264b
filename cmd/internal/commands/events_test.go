package commands

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

func TestUIEventLine(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	e := event.Event{ID: 12, Type: "handoff_recorded", At: now}
	if got, want := eventLine(e, "Handoff 3 is in phase recorded", now), "   12  05:06:07  handoff_recorded          Handoff 3 is in phase recorded"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestUIMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	if got := moment(now.Add(-time.Minute), now); got != "05:05:07" {
		t.Errorf("today: %s", got)
	}
	if got := moment(now.AddDate(0, 0, -1), now); got != "2026-03-03 05:06:07" {
		t.Errorf("yesterday: %s", got)
	}
}
