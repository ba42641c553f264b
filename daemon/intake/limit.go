package intake

import (
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/limittext"
	"github.com/understudyd/understudy/hooks"
)

// hitLimit sets the state of an agent whose turn has failed with the given code of trouble.
func (h *hookStep) hitLimit(code string) {
	a := h.tx.Agent
	switch kind := a.LimitKind(code); kind {
	case "":
		a.EndLimit()
	case daemon.LimitAPI:
		again := h.in.At.Add(h.Settings.Limits.APITimeout)
		a.ReachLimit(kind, &again, h.in.At)
	default:
		a.ReachLimit(kind, h.resets, h.in.At)
	}
	h.setState(a.Rest())
}

// resuming notes that the runtime has announced that it goes on by itself.
func (h *hookStep) resuming() {
	a := h.tx.Agent
	if a.Limit == nil || a.Limit.TriedAt != nil {
		return
	}
	l, at := *a.Limit, h.in.At
	l.ResumingAt, a.Limit = &at, &l
}

// resetOf returns when the limit ends that a StopFailure reports; nil: it does not say that. It reads the machine's
// database of time zones, so it is called before the hook's transaction.
func (d *Daemon) resetOf(p hooks.Payload, at time.Time) *time.Time {
	if p.Event != hooks.StopFailure || at.IsZero() {
		return nil
	}
	t, ok := limittext.ResetAt(p.ResetsAt, at)
	if !ok {
		_, text := runtimes.ReadTrouble(p.Error, p.LastAssistantMessage, p.ErrorDetails)
		t, ok = limittext.ReadReset(text, at, time.Local, time.LoadLocation)
	}
	if !ok {
		return nil
	}
	t = t.Truncate(time.Microsecond)
	return &t
}
