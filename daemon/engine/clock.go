package engine

import "time"

// now returns the time of day, for rows. This clock may step, forwards and back. To measure a duration within one run of the
// program, use [time.Now], whose monotonic clock does not step.
func (d *Engine) now() time.Time { return d.Clock().UTC().Truncate(time.Microsecond) }

// timeSpent returns how much of the time since the given time of a row counts against a deadline (see package presence). It
// is never negative.
func (d *Engine) timeSpent(since time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.presence.Spent(since, d.now())
}

// timeLeft returns how much of limit is left for something that began at since. It subtracts only the time that counts (see
// package presence). When a daemon starts, at least grace is left (or all of limit, if limit is less), because no daemon
// could act before.
func (d *Engine) timeLeft(since time.Time, limit time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	return max(limit-d.presence.Spent(since, now), min(limit, grace)-d.presence.Spent(d.runBegan, now))
}

// timeOnRung returns how long an agent has stood on a rung of the stop ladder since the given time. It does not count the
// time before this daemon started, because this daemon could not act then.
func (d *Engine) timeOnRung(since time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	return min(d.presence.Spent(since, now), d.presence.Spent(d.runBegan, now))
}

// earliestShown returns the earliest time that the clock has shown after it showed the time since. The result is earlier
// than since if the clock was set back.
func (d *Engine) earliestShown(since time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.presence.Past(d.now()).Earliest(since)
}

// shownSince returns the earliest and the latest time that the clock has shown after it showed the time since. A result that
// is not known is the zero time. A clock that was set back may have shown since more than once. Nothing says which of those
// moments is meant, so shownSince begins at the first of them: a span that is too wide is the safe error.
func (d *Engine) shownSince(since time.Time) (least, most time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.presence.ShownSince(since, d.now())
}

// prove notes that the daemon is there now: the time since the last proof counts.
func (d *Engine) prove() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.presence.Prove(d.now())
}

// began returns when the daemon began to run.
func (d *Engine) began() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runBegan
}

const (
	// grace is how much time every deadline has left at least when a daemon starts.
	grace = 30 * time.Second
	// NoteAfter is how long a wait lasts before a note says what the daemon waits for.
	NoteAfter = 3 * time.Second
)
