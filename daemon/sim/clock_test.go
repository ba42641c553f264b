package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// span is a time in which nobody could do anything on a host.
type span struct{ from, to time.Time }

// noteAbsence notes that nobody can do anything on the host from now on until to.
func (h *host) noteAbsence(to time.Time) { h.absent = append(h.absent, span{time.Now(), to}) }

// clock is by how much a host's wall clock is ahead from a moment on.
type clock struct {
	from  time.Time
	ahead time.Duration
}

// ahead returns by how much the wall clock is ahead.
func (h *host) ahead() time.Duration { return time.Duration(h.shift.Load()) }

// now returns the time that the wall clock shows.
func (h *host) now() time.Time { return time.Now().Round(0).Add(h.ahead()) }

// setClock sets the wall clock forward, or back if by is negative.
func (h *host) setClock(by time.Duration) {
	ahead := h.ahead() + by
	h.clocks = append(h.clocks, clock{time.Now(), ahead})
	h.shift.Store(int64(ahead))
}

// stepClock sets the wall clock by a second to two hours: short steps are as likely as long ones.
func (h *host) stepClock(rng *rand.Rand) {
	by := time.Duration(math.Exp(rng.Float64()*math.Log(7200)) * float64(time.Second))
	if rng.IntN(2) == 0 {
		by = -by
	}
	h.setClock(by)
	h.w.trace.note(h.name, "the clock steps by %s", by.Round(time.Millisecond))
}

// trueTime returns when the wall clock showed a time. If it showed that time more than once, trueTime returns the last
// one before by. If it never did, because another host wrote the row, it returns by.
func (h *host) trueTime(shown, by time.Time) time.Time {
	for i := len(h.clocks) - 1; i >= -1; i-- {
		at, from, to := shown, time.Time{}, by
		if i >= 0 {
			at, from = shown.Add(-h.clocks[i].ahead), h.clocks[i].from
		}
		if i+1 < len(h.clocks) {
			to = h.clocks[i+1].from
		}
		if !at.Before(from.Truncate(time.Microsecond)) && !at.After(to) && !at.After(by) {
			return at
		}
	}
	return by
}

// moment is the time of something by the row (shown), and the true time at which the simulation saw the row (seen).
type moment struct{ shown, seen time.Time }

// usableSince returns how much of the time since a moment the host's daemon could use. Nor does the time without count.
func (h *host) usableSince(since time.Time, without ...span) time.Duration {
	now := time.Now()
	var lost time.Duration
	spans := slices.SortedFunc(slices.Values(append(without, h.absent...)), func(a, b span) int { return a.from.Compare(b.from) })
	for done := since; len(spans) > 0; spans = spans[1:] {
		from, to := laterOf(spans[0].from, done), spans[0].to
		if to.After(now) {
			to = now
		}
		if to.After(from) {
			lost += to.Sub(from)
			done = to
		}
	}
	return now.Sub(since) - lost
}

// limits are the deadlines by which a handoff can fail, by error code.
func limits(set daemon.HandoffSettings) map[string]time.Duration {
	return map[string]time.Duration{
		"document_timeout": set.DocumentTimeout, "busy_timeout": set.BusyTimeout, "registration_timeout": set.RegistrationTimeout,
		"skill_timeout": set.RegistrationTimeout, "spawn_timeout": 30 * time.Second, "successor_not_ready": set.RegistrationTimeout,
	}
}

// checkTime: no handoff fails by a deadline unless its daemon had that time. After a start half a minute is enough,
// because a daemon cannot know how much time there was before. An absence of less than five seconds counts as presence.
func (w *world) checkTime(h *daemon.Handoff) {
	limit, timed := limits(settings().Handoff)[string(h.Error.Code)]
	list, err := w.lent.Transitions(ctx(), h.ID)
	if err != nil || !timed || len(list) < 2 {
		return
	}
	was := w.entered[h.ID]
	for _, host := range w.hosts {
		if host.name != h.Host {
			continue
		}
		if had := host.usableSince(host.trueTime(was.shown, was.seen)); had < limit-limit/10-3*time.Second && host.usableSince(host.began) < 24*time.Second {
			w.fail("handoff %d failed by %s (%s), but its daemon had only %s", h.ID, h.Error.Code, limit, had)
		}
	}
}

// checkUnconfirmed: no delivery is given up by ack_timeout unless its daemon had that time.
func (w *world) checkUnconfirmed(d *daemon.Delivery) {
	if d.Verdict == nil || *d.Verdict == daemon.Submitted || d.TypedAt == nil || !strings.HasPrefix(d.Evidence, "ack_timeout") {
		return
	}
	limit, typed := settings().Handoff.AckTimeout, w.typed[d.ID]
	for _, a := range w.agents {
		if a.id != d.AgentID {
			continue
		}
		if had := a.h.usableSince(a.h.trueTime(typed.shown, typed.seen)); had < limit-limit/10-3*time.Second && a.h.usableSince(a.h.began) < 27*time.Second {
			w.fail("delivery %d is %s (%s), but its daemon had only %s", d.ID, *d.Verdict, d.Evidence, had)
		}
	}
}

// noteTyped notes when a delivery was typed.
func (w *world) noteTyped(d *daemon.Delivery) {
	if d.TypedAt != nil && !w.typed[d.ID].shown.Equal(*d.TypedAt) {
		w.typed[d.ID] = moment{*d.TypedAt, time.Now()}
	}
}
