package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// span is time in which nobody could do anything on a host.
type span struct{ from, to time.Time }

// nobody notes that from now on nobody can do anything, up to a time.
func (h *host) nobody(to time.Time) { h.absent = append(h.absent, span{time.Now(), to}) }

// clock is how a machine's wall clock is set from a moment on.
type clock struct {
	from  time.Time
	ahead time.Duration
}

// ahead is by how much the wall clock is.
func (h *host) ahead() time.Duration { return time.Duration(h.shift.Load()) }

// now is what the wall clock shows.
func (h *host) now() time.Time { return time.Now().Round(0).Add(h.ahead()) }

// setClock has the wall clock step.
func (h *host) setClock(by time.Duration) {
	ahead := h.ahead() + by
	h.clocks = append(h.clocks, clock{time.Now(), ahead})
	h.shift.Store(int64(ahead))
}

// step has the wall clock step by a second to two hours: short steps are as likely as long ones.
func (h *host) step(rng *rand.Rand) {
	by := time.Duration(math.Exp(rng.Float64()*math.Log(7200)) * float64(time.Second))
	if rng.IntN(2) == 0 {
		by = -by
	}
	h.setClock(by)
	h.w.trace.note(h.name, "the clock steps by %s", by.Round(time.Millisecond))
}

// truly is when the wall clock has shown a time: the last time before by, which may be several; by if it never has,
// as when the row is another host's.
func (h *host) truly(shown, by time.Time) time.Time {
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

// moment is when something was seen in a row, and what the row says of it.
type moment struct{ shown, seen time.Time }

// had is how much of the time since a moment a host's daemon had.
func (h *host) had(since time.Time) time.Duration {
	now := time.Now()
	var lost time.Duration
	spans := slices.SortedFunc(slices.Values(h.absent), func(a, b span) int { return a.from.Compare(b.from) })
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

// limits are the deadlines whose time must have been there when a handoff fails by them.
func limits(set daemon.HandoffSettings) map[string]time.Duration {
	return map[string]time.Duration{
		"document_timeout": set.DocumentTimeout, "busy_timeout": set.BusyTimeout, "registration_timeout": set.RegistrationTimeout,
		"skill_timeout": set.RegistrationTimeout, "spawn_timeout": 30 * time.Second, "successor_not_ready": set.RegistrationTimeout,
	}
}

// checkTime: no handoff fails by a deadline that nobody could have met. When a daemon starts, half a minute is
// enough: what the time before was, it can't know.
func (w *world) checkTime(h *daemon.Handoff) {
	limit, timed := limits(settings().Handoff)[h.Error.Code]
	list, err := w.lent.Transitions(ctx(), h.ID)
	if err != nil || !timed || len(list) < 2 {
		return
	}
	was := w.entered[h.ID]
	for _, host := range w.hosts {
		if host.name != h.Host {
			continue
		}
		if had := host.had(host.truly(was.shown, was.seen)); had < limit-limit/10-3*time.Second && host.had(host.began) < 27*time.Second {
			w.fail("handoff %d failed by %s (%s), and there were only %s for it", h.ID, h.Error.Code, limit, had)
		}
	}
}

// checkUnconfirmed: no text is given up before its time.
func (w *world) checkUnconfirmed(d *daemon.Delivery) {
	if d.Verdict == nil || *d.Verdict == daemon.Submitted || d.TypedAt == nil || !strings.HasPrefix(d.Evidence, "ack_timeout") {
		return
	}
	limit, typed := settings().Handoff.AckTimeout, w.typed[d.ID]
	for _, a := range w.agents {
		if a.id != d.AgentID {
			continue
		}
		if had := a.h.had(a.h.truly(typed.shown, typed.seen)); had < limit-limit/10-3*time.Second && a.h.had(a.h.began) < 27*time.Second {
			w.fail("delivery %d is %s (%s), and there were only %s for it", d.ID, *d.Verdict, d.Evidence, had)
		}
	}
}

// wasTyped notes when a delivery was typed.
func (w *world) wasTyped(d *daemon.Delivery) {
	if d.TypedAt != nil && !w.typed[d.ID].shown.Equal(*d.TypedAt) {
		w.typed[d.ID] = moment{*d.TypedAt, time.Now()}
	}
}
