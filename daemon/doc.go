// Package daemon is the domain: agents, what is typed to them, the handoff of their work from one
// to the next, and pipelines, in which several work one after the other. It knows no SQL, no HTTP
// and starts no processes; the database, the terminal and the desktop reach it through the small
// interfaces that it declares.
//
// # How it works
//
// Everything that matters is a row. A row is in a state; an acting state runs an effect, a waiting
// state names what it waits for and a deadline. [Daemon.work] looks at one agent's rows, does the
// one thing that is due, commits it and looks again, until nothing is due. It decides from stored
// facts alone, so it may be run at any time and as often as one likes: a hook, a commit on another
// host, the end of a process, a timer and a sweep once a second all just wake it.
// [Daemon.workPipeline] does the same for a run of a pipeline.
//
// # Ordering and concurrency
//
// Work for one agent runs in its lane, one piece at a time, and so does work for one run; different
// agents and runs go on at once. A run acts on its agents by writing their rows. Hooks are applied
// outside the lanes, in one transaction each, under the agent's row lock. Every write is guarded by
// the revision that was read; who comes second gets [ErrMoved] and looks again. No lock is held
// across tmux, the database or a file.
//
// # What a crash leaves
//
// An intention is committed before its effect, and an effect can be recognised afterwards: a pane
// by its mark, a typed text by a token that tmux itself checks, a process by pid and start time, a
// document by its path. A daemon that starts again carries on from the rows. What can't be known is
// resolved by evidence or fails visibly; nothing is typed twice on a guess. A daemon that stops
// leaves its agents running.
package daemon
