package commands

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

func TestPointInTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	for text, want := range map[string]time.Time{
		"":                     {},
		"2h":                   now.Add(-2 * time.Hour),
		"2026-03-01":           time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
		"2026-03-01 04:05":     time.Date(2026, 3, 1, 4, 5, 0, 0, time.Local),
		"2026-03-01T04:05:06Z": time.Date(2026, 3, 1, 4, 5, 6, 0, time.UTC),
	} {
		if got, err := pointInTime("since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"-2h", "yesterday", "2026-13-01", "7"} {
		if _, err := pointInTime("since", text, now); err == nil || !strings.HasPrefix(err.Error(), "--since must be") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestUIEventLine(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	for at, want := range map[time.Time]string{now.Add(-time.Minute): "05:05:07", now.AddDate(0, 0, -1): "2026-03-03 05:06:07"} {
		e := event.Event{ID: 12, Type: "handoff_recorded", At: at}
		if got, want := eventLine(e, "Handoff 3 is in phase recorded", now), "   12  "+want+"  handoff_recorded          Handoff 3 is in phase recorded"; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
