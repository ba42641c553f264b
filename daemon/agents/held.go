package agents

import (
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
)

// UntilForgotten returns how long a session has still to take the prompt of its command line, before the daemon takes the prompt for
// forgotten. A dialog before the session may make the runtime forget it. Without such a dialog only the hooks of the session's start can
// hold it for so long, and the runtime takes it when they end.
func UntilForgotten(d *Supervisor, a *daemon.Agent) time.Duration {
	limit := d.Settings().Handoff.AckTimeout
	if d.RuntimeOf(a).Can.Registers == runtimes.RegistersByHook && a.AnsweredAt == nil {
		limit = max(limit, deliveries.StartHooks)
	}
	return d.TimeLeft(*a.RegisteredAt, limit)
}

// StartHolds reports whether the screen of an agent says that hooks of its session's start run, and they still may. Then the prompt of its
// command line is held, and not forgotten, also if a dialog came before the session.
func StartHolds(d *Supervisor, a *daemon.Agent, s *sight.Screen) bool {
	return s.Held && a.RegisteredAt != nil && d.TimeLeft(*a.RegisteredAt, deliveries.StartHooks) > 0
}
