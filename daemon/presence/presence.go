// Package presence measures the part of a wait that counts against a deadline. Only the time in which the daemon ran
// counts. Time in which the machine slept, the process was stopped or the database was away does not count. If
// somebody sets the clock forward by an hour, that hour does not count either.
//
// A worked example. The daemon calls [Presence.Prove] each second, and a wait begins at 12:00:00.
//   - Sleep: the lid is closed at 12:00:10 and opened at 14:00:00. The next call of Prove comes at 14:00:00, and proves
//     the second before it. At that moment the wait has spent 11 s, not two hours.
//   - A clock set back: at 12:00:10 somebody sets the clock to 11:00:00. When the clock shows 11:00:05, the wait has
//     spent 15 s, although the clock shows a time before the wait began.
//
// A [Presence] is not safe for concurrent use. It lives in memory, so a daemon that starts knows nothing about the time
// before its start.
package presence

import "time"

const (
	// ProveEvery is how often a daemon calls [Presence.Prove].
	ProveEvery = time.Second
	// absentAfter is the longest time between two calls of Prove without a gap. After a longer time, the daemon counts as
	// absent between them.
	absentAfter = 5 * time.Second
	// maxStretches is how many stretches a Presence remembers. No wait lasts through more of them.
	maxStretches = 100
	// maxFuture is how many times Presence.future remembers.
	maxFuture = 1000
)

// stretch is a span of time in which the daemon ran and nobody set its clock. The clock showed from at the start of the
// stretch, and to at its end.
type stretch struct {
	from, to      time.Time
	presentBefore time.Duration // the sum of the stretches before this one
	// least is the earliest time that the clock may have shown in the stretch, if that is before from; else the zero time.
	least time.Time
	// unseen is how long before the first proof of the stretch the last proof of the one before was, by the monotonic clock.
	unseen time.Duration
}

// presentAt returns how long the daemon had run, in all stretches together, when the clock showed t in this stretch.
func (s *stretch) presentAt(t time.Time) time.Duration { return s.presentBefore + t.Sub(s.from) }

// Presence remembers the stretches in which the daemon ran, by the wall clock, because the rows have its times. Time
// between two stretches counts against no deadline.
type Presence struct {
	stretches []stretch // in order; the last one has not ended
	provedAt  time.Time // when Prove was called last, by the monotonic clock
	// future has the times, in nanoseconds, that were still in the future when Spent was called with them. The value is the
	// time now of that first call. A row has such a time if somebody set the clock back while no daemon ran, or if the
	// clock of another host is ahead.
	future map[int64]time.Time
}

// Begin forgets all stretches and begins the first one.
func (p *Presence) Begin(now time.Time) {
	*p = Presence{stretches: []stretch{{from: now, to: now}}, provedAt: time.Now()}
}

// Prove records that the daemon runs at the time now.
func (p *Presence) Prove(now time.Time) {
	p.stretches = p.stretchesUpTo(now)
	p.stretches = p.stretches[max(0, len(p.stretches)-maxStretches):]
	p.provedAt = time.Now()
}

// stretchesUpTo returns the stretches, with the last one extended to now, or with a new one if the daemon was absent or
// somebody set the clock back. It changes nothing in p.
func (p *Presence) stretchesUpTo(now time.Time) []stretch {
	if len(p.stretches) == 0 {
		return []stretch{{from: now, to: now}} // before Begin
	}
	last := p.stretches[len(p.stretches)-1]
	before, seen := p.stretches[:len(p.stretches)-1:len(p.stretches)-1], last.presentAt(last.to)
	unseen := time.Since(p.provedAt)
	switch gap := now.Sub(last.to); {
	case gap > absentAfter:
		return append(before, last, stretch{from: now.Add(-ProveEvery), to: now, presentBefore: seen, unseen: unseen})
	case gap < 0:
		since, least := unseen, time.Time{}
		if since > absentAfter { // the machine may have slept after the clock was set back, so count only absentAfter
			least = now.Add(-since)
			since, seen = absentAfter, seen-absentAfter+ProveEvery
		}
		return append(before, last, stretch{from: now.Add(-since), to: now, presentBefore: seen, least: least, unseen: unseen})
	}
	last.to = now
	return append(before, last)
}

// Spent returns how much of the time from since to now counts. If the clock has shown since more than once, Spent takes
// the last of those moments, because most waits began a moment ago. If since is in the future, the time counts from the
// first call of Spent with that since.
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

// Past is what a Presence remembered at a moment. It is a value: it does not change, and may be used by anybody.
type Past struct{ stretches []stretch }

// Past returns what is remembered at the time now.
func (p *Presence) Past(now time.Time) Past { return Past{p.stretchesUpTo(now)} }

// Earliest returns the earliest time that the clock has shown after it showed since. The result is before since if
// somebody set the clock back afterwards. If the clock has shown since more than once, Earliest takes the last of those
// moments. It returns the zero time if since is in the future.
func (p Past) Earliest(since time.Time) time.Time {
	if len(p.stretches) == 0 {
		return since
	}
	return lowestSince(p.stretches, stretchOf(p.stretches, since), since)
}

// After returns a function that reports whether the clock may have shown a time after it showed since. A clock that was set back has not shown
// all times since the earliest one: a time between two stretches was shown before since, if at all. If the clock has shown since more than
// once, After takes the last of those moments. Nothing is known of a since in the future, so each time may have been shown after it.
func (p Past) After(since time.Time) func(at time.Time) bool {
	return shownAfter(p.stretches, stretchOf(p.stretches, since), since)
}

// AfterFirst is After since the first of the moments at which the clock has shown since.
func (p Past) AfterFirst(since time.Time) func(at time.Time) bool {
	for i, s := range p.stretches {
		if !since.Before(s.from) && since.Before(unproved(p.stretches, i)) {
			return shownAfter(p.stretches, i, since)
		}
	}
	return p.After(since)
}

// shownAfter is After since the moment at which the clock showed since in the stretch all[i]. It rounds the begin of each stretch down, because
// transcripts have their times in milliseconds. Nothing is known about the clock before the first stretch.
func shownAfter(all []stretch, i int, since time.Time) func(at time.Time) bool {
	return func(at time.Time) bool {
		if i < 0 || i == 0 && since.Before(all[0].from) && !at.Before(since.Truncate(time.Millisecond)) {
			return true
		}
		for k := i; k < len(all); k++ {
			from := all[k].from
			switch least := all[k].least; {
			case k == i && since.After(from):
				from = since
			case k > i && !least.IsZero() && least.Before(from):
				from = least
			}
			if !at.Before(from.Truncate(time.Millisecond)) && !at.After(lastShown(all, k)) {
				return true
			}
		}
		return false
	}
}

// lastShown returns the latest time that the clock may have shown before the stretch after all[k] began. It may have been set forward then.
func lastShown(all []stretch, k int) time.Time {
	if k == len(all)-1 {
		return all[k].to
	}
	end := unproved(all, k)
	if next := all[k+1].from; next.After(end) {
		end = next
	}
	return end
}

// unproved returns the latest time that the clock may have shown after the last proof of the stretch all[k], as it ran.
func unproved(all []stretch, k int) time.Time {
	more := absentAfter
	if k < len(all)-1 {
		more = max(more, all[k+1].unseen)
	}
	return all[k].to.Add(more)
}

// lowestSince returns the earliest time that the clock has shown after it showed since in the stretch all[i]. It returns
// the zero time if i is less than 0.
func lowestSince(all []stretch, i int, since time.Time) time.Time {
	if i < 0 {
		return time.Time{}
	}
	for _, s := range all[i+1:] {
		if s.from.Before(since) {
			since = s.from
		}
		if !s.least.IsZero() && s.least.Before(since) {
			since = s.least
		}
	}
	return since
}

// stretchOf returns the index of the last stretch in which, or right after which, the clock has shown at. It returns
// 0 if at is before all stretches, and -1 if at is in the future.
func stretchOf(all []stretch, at time.Time) int {
	for i := len(all) - 1; i >= 0; i-- {
		if !at.Before(all[i].from) && !at.After(all[i].to) {
			return i
		}
	}
	for i := len(all) - 2; i >= 0; i-- { // the clock may have shown at after the last proof of a stretch
		if at.After(all[i].to) && !at.After(lastShown(all, i)) {
			return i
		}
	}
	if at.Before(all[0].from) {
		return 0
	}
	return -1
}
