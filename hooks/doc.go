// Package hooks owns everything between an agent CLI's hooks and the daemon:
// the payloads, the command that sends them to the daemon, the spool that keeps
// them while the daemon does not answer, the settings that make the CLI call us,
// and the command /handoff with which a session asks for its successor. It
// imports none of our packages and no os/exec, because it is linked into a
// process that must start and end within a few milliseconds.
//
// # Concurrency
//
// Several goroutines may call every function and method. Many hook processes
// may put into one spool at once. Only one process, the daemon, drains it;
// several [Spool.Drain] of that process take turns at each agent's envelopes.
//
// # What a crash leaves
//
// A killed hook process leaves at most a file ".new-…" in the spool. The next
// Drain removes such a file when it is a minute old. Spool files are renamed
// into place but not synced: they survive the crash of any process, but a power
// failure, which also ends the agents, may lose the newest ones. If the daemon is
// killed in a Drain, the next one delivers the current file again under the same
// key. A killed [Apply] leaves the settings file as it was or as planned. A
// killed [ApplySlash] does the same with the command's file, and may leave an
// empty new folder.
//
// # One hook, start to end
//
// The CLI runs `understudy hook EVENT` ([Command]) with the payload on stdin.
// Command wraps the payload in an [Envelope], [Send]s it over the daemon's unix
// socket and prints the answer. It always returns 0 and prints nothing but a
// complete answer, because a broken daemon must not break a person's session.
//
// # What a missing answer proves
//
// Command puts an envelope into the [Spool] exactly when no complete answer came
// back, under the key with which it was sent. So when a spooled key is one that
// the daemon has stored before, the daemon knows two things: this is no second
// event, and the CLI never got the first answer. The reverse does not hold: if a
// complete answer arrived but could not be printed (the CLI had closed the
// pipe), the envelope is not spooled.
//
// # Order
//
// A spooled file is named by the time at which its hook started, and the daemon
// replays the files in that order. It also accepts live hooks while the spool is
// not empty: it first applies what the same agent has spooled. If that takes
// long, it refuses the live hook, which is then spooled behind the others.
// Hooks of one CLI that ran at the same moment have no defined order.
package hooks
