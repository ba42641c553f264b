package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// span is time in which nobody could do anything on a host.
type span struct{ from, to time.Time }

// nobody notes that from now on nobody can do anything, up to a time.
func (h *host) nobody(to time.Time) { h.absent = append(h.absent, span{time.Now(), to}) }

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
	list, err := w.store.Transitions(ctx(), h.ID)
	if err != nil || !timed || len(list) < 2 {
		return
	}
	began := list[len(list)-2].At
	for _, host := range w.hosts {
		if host.name != h.Host {
			continue
		}
		if had := host.had(began); had < limit-limit/10-3*time.Second && host.had(host.began) < 27*time.Second {
			w.fail("handoff %d failed by %s (%s), and there were only %s for it", h.ID, h.Error.Code, limit, had)
		}
	}
}

// checkUnconfirmed: no text is given up before its time.
func (w *world) checkUnconfirmed(d *daemon.Delivery) {
	if d.Verdict == nil || *d.Verdict == daemon.Submitted || d.TypedAt == nil || !strings.HasPrefix(d.Evidence, "ack_timeout") {
		return
	}
	limit := settings().Handoff.AckTimeout
	for _, a := range w.agents {
		if a.id == d.AgentID && a.h.had(*d.TypedAt) < limit-limit/10-3*time.Second && a.h.had(a.h.began) < 27*time.Second {
			w.fail("delivery %d is %s (%s), and there were only %s for it", d.ID, *d.Verdict, d.Evidence, a.h.had(*d.TypedAt))
		}
	}
}
