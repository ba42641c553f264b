package daemon

import "time"

// now is the time of day, as rows have it. It may step, forwards and back. What a run measures itself is measured
// with [time.Now], whose monotonic clock does not step.
func (d *Daemon) now() time.Time { return d.Clock().UTC().Truncate(time.Microsecond) }

// elapsed is how long something in rows took: nothing, if the clock was set back meanwhile.
func elapsed(from, to time.Time) time.Duration { return max(to.Sub(from), 0) }

// timeSpent is how much of the time since a moment in a row counts: see package presence. It is never less than nothing.
func (d *Daemon) timeSpent(since time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.presence.Spent(since, d.now())
}

// timeLeft is how long something that began at since may still take. Time in which nobody could do anything about it
// does not count: see package presence. No daemon ran before this one's start: from then on it has its limit again, up to
// half a minute.
func (d *Daemon) timeLeft(since time.Time, limit time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	return max(limit-d.presence.Spent(since, now), min(limit, grace)-d.presence.Spent(d.runBegan, now))
}

// timeOnRung is how long a rung of the stop ladder has lasted, as far as this daemon was there to act on it.
func (d *Daemon) timeOnRung(since time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	return min(d.presence.Spent(since, now), d.presence.Spent(d.runBegan, now))
}

// earliestShown is the least that the clock has shown since it showed a time: less than that time if it was set back.
func (d *Daemon) earliestShown(since time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.presence.Earliest(since, d.now())
}

// shownSince is the least and the most that the clock has shown since a time, each the zero time if that is not known. Too wide
// a span is the safe one: a clock that was set back may have shown the time more than once, and which of them is meant is
// not known.
func (d *Daemon) shownSince(since time.Time) (least, most time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.presence.ShownSince(since, d.now())
}

// cameAfter reports whether a hook came after a text was typed. Its id tells, but for a hook that was on its way; and its
// time, but for a clock that was set back.
func (d *Daemon) cameAfter(hook int64, at time.Time, dl *Delivery) bool {
	return hook > dl.AfterHook && at.After(d.earliestShown(*dl.TypedAt))
}
