// Package hooks owns the border to an agent CLI's hooks: the payloads that
// come in, the command that carries them to the daemon, the spool that keeps
// them while the daemon is away, the settings that make the CLI call us, and
// the command /handoff with which a session asks for its successor.
//
// # One hook, start to end
//
// The CLI runs `understudy hook EVENT` ([Command]) with the payload on stdin.
// Command wraps it in an [Envelope], [Send]s it over the daemon's unix socket
// and prints the answer. It always returns 0 and prints nothing but a complete
// answer, because a broken supervisor must not break a person's session.
//
// # What a missing answer proves
//
// An envelope is put into the [Spool] exactly when no complete answer came
// back, and under the key it was sent with. So the daemon may draw two
// conclusions when a key comes out of the spool that it stored before: this is
// no second event, and whatever it answered at the time was not printed.
// The reverse does not hold: an answer that arrived here and could not be
// printed (the CLI had closed the pipe) is not spooled.
//
// # Order
//
// Spooled files are named by the time at which the hook started, and are
// replayed in that order. While the spool is not empty the daemon hears live
// hooks, too: it applies what a live hook's agent has spooled before it, and
// refuses the live hook if that takes long, so that it is spooled behind them.
// Hooks of one CLI that ran at the same moment have no order of their own.
//
// # Concurrency
//
// Everything here may be called from several goroutines. Many hook processes
// put into one spool at once; one process, the daemon, drains it. Several
// [Spool.Drain] of that process take turns at each agent's envelopes.
//
// # What a crash leaves
//
// A killed hook process leaves at most a file ".new-…" in the spool, which the
// next Drain removes when it is a minute old. Spool files are renamed into
// place but not synced: they survive any crash of a process, while the loss of
// power, which ends the agents too, may take the newest ones. A daemon killed
// in a Drain delivers the file in hand once more, under the same key. A killed
// [Apply] leaves the settings file either as it was or as planned, a killed
// [ApplySlash] the command's file; at worst its new folder is empty.
//
// The package imports none of ours and no os/exec: it is linked into a process
// that has a few milliseconds to live.
package hooks
