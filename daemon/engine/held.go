package engine

import (
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// untilForgotten returns how long a session has still to take the prompt of its command line, before the daemon takes the prompt for
// forgotten. A dialog before the session may make the runtime forget it. Without such a dialog only the hooks of the session's start can
// hold it for so long, and the runtime takes it when they end.
func untilForgotten(d *Supervisor, a *daemon.Agent) time.Duration {
	limit := d.Settings().Handoff.AckTimeout
	if d.runtimeOf(a).Can.Registers == runtimes.RegistersByHook && a.AnsweredAt == nil {
		limit = max(limit, startHooks)
	}
	return d.timeLeft(*a.RegisteredAt, limit)
}

// startHolds reports whether the screen of an agent says that hooks of its session's start run, and they still may. Then the prompt of its
// command line is held, and not forgotten, also if a dialog came before the session.
func startHolds(d *Supervisor, a *daemon.Agent, s *screen) bool {
	return s.Held && a.RegisteredAt != nil && d.timeLeft(*a.RegisteredAt, startHooks) > 0
}
