package daemon

import "time"

// now returns the time of day, for rows. It may step, forwards and back. What is measured within one run of the
// program is measured with [time.Now], whose monotonic clock does not step.
func (d *Daemon) now() time.Time { return d.Clock().UTC().Truncate(time.Microsecond) }

// elapsed returns how long something in rows took; 0, if the clock was set back meanwhile.
func elapsed(from, to time.Time) time.Duration { return max(to.Sub(from), 0) }

// timeSpent returns how much of the time since a moment in a row counts: see package presence. It is never negative.
func (d *Daemon) timeSpent(since time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.presence.Spent(since, d.now())
}

// timeLeft returns how much of limit is left for something that began at since. Only the time that counts is spent:
// see package presence. After a start of the daemon at least half a minute of the limit (or all of it, if it is less)
// is left, because no daemon could act before.
func (d *Daemon) timeLeft(since time.Time, limit time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	return max(limit-d.presence.Spent(since, now), min(limit, grace)-d.presence.Spent(d.runBegan, now))
}

// timeOnRung returns how long a rung of the stop ladder has lasted, counted at most from the start of this daemon,
// which could not act on it before.
func (d *Daemon) timeOnRung(since time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	return min(d.presence.Spent(since, now), d.presence.Spent(d.runBegan, now))
}

// earliestShown returns the least time that the clock has shown since it showed since; less than since, if it was set
// back.
func (d *Daemon) earliestShown(since time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.presence.Earliest(since, d.now())
}

// shownSince returns the least and the most that the clock has shown since it showed since; the zero time for what is
// not known. A clock that was set back may have shown since more than once. Nothing says which of those times is
// meant, so the span begins at the first of them: too wide a span is the safe error.
func (d *Daemon) shownSince(since time.Time) (least, most time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.presence.ShownSince(since, d.now())
}

// cameAfter reports whether a hook came after a text was typed. Two facts must say so, because each alone may mislead: the
// id of the hook, since a hook may have been on its way; and its time, since the clock may have been set back.
func (d *Daemon) cameAfter(hook int64, at time.Time, dl *Delivery) bool {
	return hook > dl.AfterHook && at.After(d.earliestShown(*dl.TypedAt))
}
