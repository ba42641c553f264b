package daemon

import (
	"time"
)

// EnterPhase puts an heir into phase p and sets the deadline.
func (h *HandoffHeir) EnterPhase(p Phase, now time.Time, settings HandoffSettings) {
	h.Phase, h.PhaseAt, h.Deadline = p, &now, nil
	h.WaitFor(Hold{}, now)
	if s, ok := StepAt(p); ok && s.Limit != nil {
		at := now.Add(s.Limit(settings))
		h.Deadline = &at
	}
	if p == Completed {
		h.BriefedAt = &now
	}
}

// Elapsed returns the time between two times in rows; 0, if the clock was set back in between.
func Elapsed(from, to time.Time) time.Duration { return max(to.Sub(from), 0) }
