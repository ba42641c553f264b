// Package calendar says when days begin, by which usage and budgets are counted. A leaf.
package calendar

import (
	"time"
)

// DayBegins returns when the day of t begins on this machine's clock, or the day n days after it. All that is counted by days
// begins and ends here: usage and budgets.
func DayBegins(t time.Time, n int) time.Time { return DayBeginsIn(t.In(time.Local), n) }

// DayBeginsIn is DayBegins in the zone of t. A day need not begin at 0:00: where the clock is set at midnight, the day begins at 1:00,
// or 0:00 comes twice.
func DayBeginsIn(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	midnight := time.Date(y, m, d+n, 0, 0, 0, 0, time.UTC)
	noon := time.Date(y, m, d+n, 12, 0, 0, 0, t.Location())
	_, offset := noon.Zone()
	begins := midnight.Add(-time.Duration(offset) * time.Second)
	if set, _ := noon.ZoneBounds(); !set.IsZero() {
		_, before := set.Add(-time.Nanosecond).Zone()
		if earlier := midnight.Add(-time.Duration(before) * time.Second); earlier.Before(set) {
			begins = earlier // the clock was set after midnight, or long ago
		} else if begins.Before(set) {
			begins = set // it was set at midnight, forward
		}
	}
	return begins.In(t.Location())
}

// DayNamed returns when the day of a name such as 2006-01-02 begins in a zone.
func DayNamed(name string, where *time.Location) (time.Time, error) {
	noon, err := time.ParseInLocation(time.DateOnly+" 15", name+" 12", where)
	if err != nil {
		return time.Time{}, err
	}
	return DayBeginsIn(noon, 0), nil
}

// DaysUntil returns the beginnings of the days from that of since to that of now, at most most.
func DaysUntil(since, now time.Time, most int) (days []time.Time) {
	first, today := DayBeginsIn(since, 0), DayBeginsIn(now, 0)
	for n := 0; n < most; n++ {
		day := DayBeginsIn(first, n)
		if day.After(today) {
			break
		}
		days = append(days, day)
	}
	return days
}
