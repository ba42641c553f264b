package daemon

import "time"

const (
	// absentAfter is how long the sweep, which comes each second, may be late before nobody was there.
	absentAfter = 5 * time.Second
	// maxAbsences is how many are remembered; waits do not last through more.
	maxAbsences = 100
)

// absence is time in which the daemon could do nothing: the machine slept, the process was stopped, the database
// was away; or no time at all, because somebody set the clock. It does not count against any deadline.
type absence struct {
	from time.Time // on the clock as it was before
	lost time.Duration
}

// presence knows when the daemon was there. Its clock is that of the rows, the wall clock.
type presence struct {
	seen     time.Time // the newest proof of it
	absences []absence
}

// begin forgets all that was before.
func (p *presence) begin(now time.Time) { p.seen, p.absences = now.Round(0), nil }

// prove notes that the daemon is there.
func (p *presence) prove(now time.Time) {
	now = now.Round(0)
	if lost := p.missing(now); lost != 0 {
		p.absences = append(p.absences, absence{from: p.seen, lost: lost})
		p.absences = p.absences[max(0, len(p.absences)-maxAbsences):]
	}
	p.seen = now
}

// missing is what was lost since the newest proof: less than nothing if the clock was set back.
func (p *presence) missing(now time.Time) time.Duration {
	switch gap := now.Sub(p.seen); {
	case gap > absentAfter:
		return gap - sweepEvery
	case gap < 0:
		return gap
	}
	return 0
}

// spent is how much of the time from since to now counts.
func (p *presence) spent(since, now time.Time) time.Duration {
	now = now.Round(0)
	spent := now.Sub(since)
	for _, a := range append(p.absences, absence{from: p.seen, lost: p.missing(now)}) {
		switch end := a.from.Add(a.lost); {
		case a.lost < 0 && since.After(end) && !since.After(now):
			// The clock has shown this time twice. What is waited for has mostly begun a moment ago.
		case !since.After(a.from):
			spent -= a.lost
		case since.Before(end):
			spent -= end.Sub(since)
		}
	}
	return max(spent, 0)
}
