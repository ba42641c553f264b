package engine

import (
	"time"

	"github.com/understudyd/understudy/daemon"
)

// DaysUntil returns the beginnings of the days from that of since to that of now, at most most.
func DaysUntil(since, now time.Time, most int) (days []time.Time) {
	first, today := daemon.DayBeginsIn(since, 0), daemon.DayBeginsIn(now, 0)
	for n := 0; n < most; n++ {
		day := daemon.DayBeginsIn(first, n)
		if day.After(today) {
			break
		}
		days = append(days, day)
	}
	return days
}
