package engine

import (
	"time"

	"github.com/understudyd/understudy/daemon/presence"
)

// Now returns the time of day, for rows. This clock may step, forwards and back. To measure a duration within one run of the
// program, use [time.Now], whose monotonic clock does not step.
func (d *Engine) Now() time.Time { return d.Clock().UTC().Truncate(time.Microsecond) }

// TimeSpent returns how much of the time since the given time of a row counts against a deadline (see package presence). It
// is never negative.
func (d *Engine) TimeSpent(since time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Presence.Spent(since, d.Now())
}

// TimeLeft returns how much of limit is left for something that began at since. It subtracts only the time that counts (see
// package presence). When a daemon starts, at least grace is left (or all of limit, if limit is less), because no daemon
// could act before.
func (d *Engine) TimeLeft(since time.Time, limit time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	return max(limit-d.Presence.Spent(since, now), min(limit, Grace)-d.Presence.Spent(d.RunBegan, now))
}

// TimeOnRung returns how long an agent has stood on a rung of the stop ladder since the given time. It does not count the
// time before this daemon started, because this daemon could not act then.
func (d *Engine) TimeOnRung(since time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	return min(d.Presence.Spent(since, now), d.Presence.Spent(d.RunBegan, now))
}

// EarliestShown returns the earliest time that the clock has shown after it showed the time since. The result is earlier
// than since if the clock was set back.
func (d *Engine) EarliestShown(since time.Time) time.Time { return d.past(d.Now()).Earliest(since) }

// ShownAfter returns a function that reports whether the clock may have shown a time after it showed the time since; see
// [presence.Past.After].
func (d *Engine) ShownAfter(since time.Time) func(at time.Time) bool {
	return d.past(d.Now()).After(since)
}

// ShownAfterFirst is ShownAfter for work that nobody may miss. A clock that was set back may have shown since more than once.
// Nothing says which of those moments is meant, so ShownAfterFirst begins at the first of them: too many times are the safe error.
func (d *Engine) ShownAfterFirst(since time.Time) func(at time.Time) bool {
	return d.past(d.Now()).AfterFirst(since)
}

func (d *Engine) past(now time.Time) presence.Past {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Presence.Past(now)
}

// Prove notes that the daemon is there now: the time since the last proof counts.
func (d *Engine) Prove() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Presence.Prove(d.Now())
}

// Began returns when the daemon began to run.
func (d *Engine) Began() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.RunBegan
}

const (
	// Grace is how much time every deadline has left at least when a daemon starts.
	Grace = 30 * time.Second
	// NoteAfter is how long a wait lasts before a note says what the daemon waits for.
	NoteAfter = 3 * time.Second
)
