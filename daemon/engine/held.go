package engine

import (
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// startHooks is how long the hooks of a session's start may take: Claude Code gives each ten minutes.
const startHooks = 10 * time.Minute

// leftHeld returns how long a session may still hold the text that was typed to it last. The daemon's own hook of the session's start
// has come, but others may still run: until they end, the runtime keeps what is typed. A second text would be a second prompt then.
// Claude Code 2.1.330 says so on its screen, also when a person has cleared the session or opened another one. Where no sign is known,
// a session that has taken any prompt holds nothing. A text for which the daemon has pressed no Enter may have been submitted by a person,
// unless a dialog was over it or it never came to the composer. s is nil if the screen is not known.
func leftHeld(d *Daemon, a *daemon.Agent, dl *daemon.Delivery, s *screen) time.Duration {
	if s != nil && s.Held && dl.ByKeys() && dl.Kind != daemon.KindCommand {
		return d.timeLeft(*dl.TypedAt, startHooks)
	}
	paste := d.pastedOf(a, dl)
	lost := dl.Attempts == 0 && (paste.missing || !paste.dialog.IsZero())
	if d.runtimeOf(a).Can.Registers != runtimes.RegistersByHook || a.RegisteredAt == nil || !dl.ByKeys() || dl.Way == runtimes.ByEcho ||
		lost || hadTurn(a) || dl.Kind == daemon.KindCommand {
		return 0
	}
	return d.timeLeft(*a.RegisteredAt, startHooks)
}

// untilForgotten returns how long a session has still to take the prompt of its command line, before the daemon takes the prompt for
// forgotten. A dialog before the session may make the runtime forget it. Without such a dialog only the hooks of the session's start can
// hold it for so long, and the runtime takes it when they end.
func untilForgotten(d *Daemon, a *daemon.Agent) time.Duration {
	limit := d.Settings().Handoff.AckTimeout
	if d.runtimeOf(a).Can.Registers == runtimes.RegistersByHook && a.AnsweredAt == nil {
		limit = max(limit, startHooks)
	}
	return d.timeLeft(*a.RegisteredAt, limit)
}

// startHolds reports whether the screen of an agent says that hooks of its session's start run, and they still may. Then the prompt of its
// command line is held, and not forgotten, also if a dialog came before the session.
func startHolds(d *Daemon, a *daemon.Agent, s *screen) bool {
	return s.Held && a.RegisteredAt != nil && d.timeLeft(*a.RegisteredAt, startHooks) > 0
}
