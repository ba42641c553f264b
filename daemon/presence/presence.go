// Package presence measures time that counts. A deadline is to run while the daemon is there and the clock goes on: not
// while the machine sleeps, the process is stopped or the database is away, nor for an hour by which somebody has set the
// clock. For instance: a daemon proves each second that it is there; at 12:00:10 the lid is closed, at 14:00:00 it is opened
// again. Of a wait that began at 12:00:00 eleven seconds have been spent at 14:00:01, and not two hours.
//
// A [Presence] is not safe for concurrent use. It lives in memory: a daemon that starts knows nothing of what was before.
package presence

import (
	"slices"
	"time"
)

const (
	// proveEvery is how often a daemon that is there proves it.
	ProveEvery = time.Second
	// absentAfter is how late a proof may be before nobody was there.
	absentAfter = 5 * time.Second
	// maxStretches is how many are remembered; waits do not last through more.
	maxStretches = 100
	// maxFuture is how many times of the future are remembered.
	maxFuture = 1000
)

// stretch is time in which the daemon was there and the clock did not step, as that clock showed it.
type stretch struct {
	from, to      time.Time
	presentBefore time.Duration // how long the daemon had been there
}

// presentAt is how long the daemon had been there at a time of the stretch.
func (s *stretch) presentAt(t time.Time) time.Duration { return s.presentBefore + t.Sub(s.from) }

// Presence knows when the daemon was there. Its clock is that of the rows, the wall clock. Between two stretches the
// daemon could do nothing: the machine slept, the process was stopped, the database was away; or there was no time at
// all, because somebody set the clock. That does not count against any deadline.
type Presence struct {
	stretches []stretch // the last one goes on
	provedAt  time.Time // by the monotonic clock, when that was noted last
	// future has times that were to come when they were asked about, in nanoseconds, and when that was: the clock was set
	// back while no daemon ran, or another host's is ahead.
	future map[int64]time.Time
}

// Begin forgets all that was before.
func (p *Presence) Begin(now time.Time) {
	*p = Presence{stretches: []stretch{{from: now, to: now}}, provedAt: time.Now()}
}

// Prove notes that the daemon is there.
func (p *Presence) Prove(now time.Time) {
	p.stretches = p.stretchesUpTo(now)
	p.stretches = p.stretches[max(0, len(p.stretches)-maxStretches):]
	p.provedAt = time.Now()
}

// stretchesUpTo are the stretches up to now.
func (p *Presence) stretchesUpTo(now time.Time) []stretch {
	if len(p.stretches) == 0 {
		return []stretch{{from: now, to: now}} // it does not run yet
	}
	last := p.stretches[len(p.stretches)-1]
	before, seen := p.stretches[:len(p.stretches)-1:len(p.stretches)-1], last.presentAt(last.to)
	switch gap := now.Sub(last.to); {
	case gap > absentAfter:
		return append(before, last, stretch{from: now.Add(-ProveEvery), to: now, presentBefore: seen})
	case gap < 0:
		since := time.Since(p.provedAt)
		if since > absentAfter { // it may have been set back right after that, and nobody was there in between
			since, seen = absentAfter, seen-absentAfter+ProveEvery
		}
		return append(before, last, stretch{from: now.Add(-since), to: now, presentBefore: seen})
	}
	last.to = now
	return append(before, last)
}

// Spent is how much of the time from since to now counts. If the clock has shown since more than once, the last time
// is meant: what is waited for has mostly begun a moment ago. A time that is still to come counts from when it was asked
// about first.
func (p *Presence) Spent(since, now time.Time) time.Duration {
	if at, known := p.future[since.UnixNano()]; known {
		since = at
	}
	all := p.stretchesUpTo(now)
	i := stretchOf(all, since)
	if i < 0 {
		if p.future == nil || len(p.future) >= maxFuture {
			p.future = map[int64]time.Time{}
		}
		p.future[since.UnixNano()] = now
		return 0
	}
	if s := &all[i]; since.After(s.to) {
		since = s.to
	}
	return all[len(all)-1].presentAt(now) - all[i].presentAt(since)
}

// Earliest is the least that the clock has shown since it showed a time; if it did more than once, since the last of
// them. The zero time: it is not known.
func (p *Presence) Earliest(since, now time.Time) time.Time {
	all := p.stretchesUpTo(now)
	return lowestSince(all, stretchOf(all, since), since)
}

// ShownSince is the least and the most that the clock has shown since the first time that it showed a time, or may have:
// a stretch goes on for a while after what is known of it. Of what it showed before the daemon began nothing is known: most
// is the zero time then.
func (p *Presence) ShownSince(since, now time.Time) (first, most time.Time) {
	all := p.stretchesUpTo(now)
	i := slices.IndexFunc(all, func(s stretch) bool { return !since.Before(s.from) && since.Before(s.to.Add(absentAfter)) })
	if i < 0 {
		i = stretchOf(all, since)
		if since.Before(all[0].from) {
			return lowestSince(all, i, since), time.Time{}
		}
	}
	most = now
	for k := max(i, 0); k < len(all)-1; k++ {
		if end := all[k].to.Add(absentAfter); end.After(most) {
			most = end
		}
	}
	return lowestSince(all, i, since), most
}

// lowestSince is the least that the clock has shown since it showed a time in a stretch.
func lowestSince(all []stretch, i int, since time.Time) time.Time {
	if i < 0 {
		return time.Time{}
	}
	for _, s := range all[i+1:] {
		if s.from.Before(since) {
			since = s.from
		}
	}
	return since
}

// stretchOf is the last of some stretches in which, or right after which, the clock has shown a time; the first one if that was
// before all, -1 if it is still to come.
func stretchOf(all []stretch, at time.Time) int {
	for i := len(all) - 1; i >= 0; i-- {
		if !at.Before(all[i].from) && !at.After(all[i].to) {
			return i
		}
	}
	for i := len(all) - 2; i >= 0; i-- { // while nobody was there, or before that was known
		if end := all[i].to; at.After(end) && (at.Before(all[i+1].from) || at.Before(end.Add(absentAfter))) {
			return i
		}
	}
	if at.Before(all[0].from) {
		return 0
	}
	return -1
}
