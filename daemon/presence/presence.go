// Package presence measures the part of a time that counts against a deadline. That part is the time in which the
// daemon was there and its clock went on. Time in which the machine slept, the process was stopped or the database
// was away does not count, and neither does an hour by which somebody set the clock.
//
// A worked example. The daemon proves each second that it is there ([Presence.Prove]), and a wait begins at 12:00:00.
//   - Sleep: the lid is closed at 12:00:10 and opened at 14:00:00. The next proof comes at 14:00:00, and stands for the
//     second before it. At that moment the wait has spent 11 s, not two hours.
//   - A clock set back: at 12:00:10 somebody sets the clock to 11:00:00. When it shows 11:00:05, the wait has spent 15 s,
//     though the clock shows a time before the wait began.
//
// A [Presence] is not safe for concurrent use. It lives in memory: a daemon that starts knows nothing of the time before.
package presence

import (
	"slices"
	"time"
)

const (
	// ProveEvery is how often a daemon calls [Presence.Prove].
	ProveEvery = time.Second
	// absentAfter is how long after a proof the next one may come: if it comes later, the daemon was not there in between.
	absentAfter = 5 * time.Second
	// maxStretches is how many stretches are remembered. No wait lasts through more of them.
	maxStretches = 100
	// maxFuture is how many times in the future are remembered.
	maxFuture = 1000
)

// stretch is a time in which the daemon was there and nobody set its clock. from and to are what that clock showed.
type stretch struct {
	from, to      time.Time
	presentBefore time.Duration // the sum of the stretches before this one
}

// presentAt returns how long the daemon had been there, all stretches together, when the clock showed t in this stretch.
func (s *stretch) presentAt(t time.Time) time.Duration { return s.presentBefore + t.Sub(s.from) }

// Presence knows the stretches in which the daemon was there, by the wall clock, whose times stand in the rows. What
// lies between two stretches counts against no deadline.
type Presence struct {
	stretches []stretch // in order; the last one goes on
	provedAt  time.Time // when Prove was called last, by the monotonic clock
	// future maps a time in nanoseconds that was still to come when Spent was asked about it to the time of that question.
	// Such a time stands in a row if the clock was set back while no daemon ran, or if the clock of another host is ahead.
	future map[int64]time.Time
}

// Begin forgets all stretches and begins the first one.
func (p *Presence) Begin(now time.Time) {
	*p = Presence{stretches: []stretch{{from: now, to: now}}, provedAt: time.Now()}
}

// Prove says that the daemon is there at the time now.
func (p *Presence) Prove(now time.Time) {
	p.stretches = p.stretchesUpTo(now)
	p.stretches = p.stretches[max(0, len(p.stretches)-maxStretches):]
	p.provedAt = time.Now()
}

// stretchesUpTo returns the stretches as they are if the clock shows now. It changes nothing.
func (p *Presence) stretchesUpTo(now time.Time) []stretch {
	if len(p.stretches) == 0 {
		return []stretch{{from: now, to: now}} // before Begin
	}
	last := p.stretches[len(p.stretches)-1]
	before, seen := p.stretches[:len(p.stretches)-1:len(p.stretches)-1], last.presentAt(last.to)
	switch gap := now.Sub(last.to); {
	case gap > absentAfter:
		return append(before, last, stretch{from: now.Add(-ProveEvery), to: now, presentBefore: seen})
	case gap < 0:
		since := time.Since(p.provedAt)
		if since > absentAfter { // the clock may have been set back right after the last proof, and the machine may have slept then
			since, seen = absentAfter, seen-absentAfter+ProveEvery
		}
		return append(before, last, stretch{from: now.Add(-since), to: now, presentBefore: seen})
	}
	last.to = now
	return append(before, last)
}

// Spent returns how much of the time from since to now counts. If the clock has shown since more than once, the last
// of those times is meant, because most waits began a moment ago. A time that is still to come counts from the first
// question about it.
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

// Earliest returns the least time that the clock has shown since it showed since; less than since, if the clock was
// set back after it. If the clock has shown since more than once, the last of those times is meant. The zero time
// means that it is not known.
func (p *Presence) Earliest(since, now time.Time) time.Time {
	all := p.stretchesUpTo(now)
	return lowestSince(all, stretchOf(all, since), since)
}

// ShownSince returns the least and the most that the clock may have shown since it showed since for the first time. A
// stretch may have gone on for absentAfter beyond its last proof, and most allows for that. most is the zero time if
// since lies before the first stretch: nothing is known of the clock before the daemon began.
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

// lowestSince returns the least time that the clock has shown since it showed since in all[i]; the zero time, if i is
// less than 0.
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

// stretchOf returns the index of the last stretch in which, or right after which, the clock has shown at. It returns
// 0 if at lies before all stretches, and -1 if it is still to come.
func stretchOf(all []stretch, at time.Time) int {
	for i := len(all) - 1; i >= 0; i-- {
		if !at.Before(all[i].from) && !at.After(all[i].to) {
			return i
		}
	}
	for i := len(all) - 2; i >= 0; i-- { // shown after the last proof of a stretch
		if end := all[i].to; at.After(end) && (at.Before(all[i+1].from) || at.Before(end.Add(absentAfter))) {
			return i
		}
	}
	if at.Before(all[0].from) {
		return 0
	}
	return -1
}
