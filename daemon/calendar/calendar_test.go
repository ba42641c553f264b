package calendar

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestDayBegins: a day begins at its first moment, in each zone and on each day, also where the clock is set at midnight.
func TestDayBegins(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "America/Santiago", "Africa/Cairo", "America/Asuncion", "Asia/Beirut", "America/Havana", "Asia/Tehran", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"} {
		where := wardentest.Value(time.LoadLocation(zone))(t)
		for at := time.Date(2020, 1, 1, 12, 0, 0, 0, where); at.Year() < 2028; at = time.Date(at.Year(), at.Month(), at.Day()+1, 12, 0, 0, 0, where) {
			day := at.Format(time.DateOnly)
			begins := DayBeginsIn(at, 0)
			if before := begins.Add(-time.Nanosecond); begins.Format(time.DateOnly) != day || before.Format(time.DateOnly) >= day {
				t.Fatalf("%s: %s begins at %s, after %s", zone, day, begins, before)
			}
			for _, same := range []time.Time{DayBeginsIn(begins, 0), DayBeginsIn(begins.Add(30*time.Minute), 0), DayBeginsIn(DayBeginsIn(at, 1), -1), DayBeginsIn(DayBeginsIn(at, -29), 29), DayBeginsIn(DayBeginsIn(at, 1).Add(-time.Nanosecond), 0)} {
				if !same.Equal(begins) {
					t.Fatalf("%s: %s begins at %s and at %s", zone, day, begins, same)
				}
			}
			if named, err := DayNamed(day, where); err != nil || !named.Equal(begins) {
				t.Fatalf("%s: the day named %s begins at %s, %v, want %s", zone, day, named, err, begins)
			}
		}
	}
	wardentest.Failed(DayNamed("2026-02-30", time.UTC))(t, "a day that February does not have has a beginning")
}

// TestDaysUntil: each day is there once, in its order, whatever the clock does.
func TestDaysUntil(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"America/Santiago", "Africa/Cairo", "Asia/Beirut", "UTC"} {
		where := wardentest.Value(time.LoadLocation(zone))(t)
		now := time.Date(2026, 11, 26, 10, 0, 0, 0, where)
		days := DaysUntil(now.Add(-2160*time.Hour), now, 1000)
		if len(days) != 91 || days[0].Format(time.DateOnly) != "2026-08-28" || days[90].Format(time.DateOnly) != "2026-11-26" {
			t.Fatalf("%s: %d days from %s to %s", zone, len(days), days[0], days[len(days)-1])
		}
		for i := 1; i < len(days); i++ {
			if d := days[i].Sub(days[i-1]); d < 23*time.Hour || d > 25*time.Hour || days[i].YearDay() != days[i-1].YearDay()+1 {
				t.Errorf("%s: %s follows %s", zone, days[i], days[i-1])
			}
		}
	}
	wardentest.Equal(t, "the first days", len(DaysUntil(time.Unix(0, 0), time.Unix(1e9, 0), 7)), 7)
}
