// Package hooks owns everything between an agent CLI's hooks and the daemon:
// the payloads, the command that sends them to the daemon, the spool that keeps
// them while the daemon does not answer, the settings that make the CLI run that
// command, and the command /handoff with which a session asks for its successor.
// It imports none of our packages and no os/exec, because it is linked into a
// process that must start and end within a few milliseconds.
//
// # Concurrency
//
// Several goroutines may call every function and method. Many hook processes
// may call [Spool.Put] for one spool at the same time. Only one process, the
// daemon, drains the spool. If several calls of [Spool.Drain] run in that process,
// they hand out the envelopes of one agent one after the other.
//
// # What a crash leaves
//
// A killed hook process leaves at most a file ".new-…" in the spool. The first
// Drain after the file is a minute old removes it. Spool files are renamed into
// place but not synced: they survive the crash of any process, but a power
// failure, which also ends the agents, may lose the newest files. If the daemon is
// killed in a Drain, the next Drain delivers the current file again under the same
// key. A killed [Apply] leaves the file as it was or as planned, and may leave a
// temporary file (*.tmp) beside it, or an empty new folder.
//
// # One hook, start to end
//
// The CLI runs `understudy hook EVENT` ([Command]) with the payload on stdin.
// Command wraps the payload in an [Envelope], sends it over the daemon's unix
// socket ([Send]) and prints the answer. It always returns 0, and prints an answer
// only if it is complete, because a broken daemon must not break a person's session.
//
// # What a missing answer proves
//
// Command puts an envelope into the [Spool] only if no complete answer came back.
// The envelope keeps the key with which it was sent. If the daemon has already
// stored a hook with the key of a spooled envelope, it therefore knows two things:
// the envelope is not a second event, and the CLI never got the first answer. The
// reverse does not hold: if a complete answer arrived but could not be printed,
// because the CLI had closed the pipe, the envelope is not spooled.
//
// # Order
//
// The name of a spooled file begins with the time at which its hook started, and
// the daemon replays the files in that order. The daemon also accepts live hooks
// while the spool is not empty: it first applies the spooled hooks of the same
// agent. If that takes long, it refuses the live hook, which is then spooled after
// the others. Hooks of one CLI that started at the same moment have no defined order.
package hooks
