// Package daemon is the domain: agents, what is typed to them, the handoff of their work from one agent to the next,
// and pipelines, in which several agents work one after the other. It knows no SQL and no HTTP, and starts no
// processes. The database, the terminal and the desktop reach it through the small interfaces that it declares.
//
// # How it works
//
// Everything that matters is a row. A row is in a state. An acting state runs an effect; a waiting state names what
// it waits for, and a deadline. [Daemon.work] looks at the rows of one agent, does the one thing that is due, commits
// it and looks again, until nothing is due. It decides from stored facts alone, so it may run at any time and any
// number of times. A hook, a commit on another host, the end of a process, a timer and a sweep once a second only
// wake it. [Daemon.workPipeline] does the same for a pipeline.
//
// # Ordering and concurrency
//
// The work for one agent runs in the agent's lane, one piece at a time. A pipeline has a lane as well. Different lanes run
// at once. A pipeline acts on its agents by writing their rows. Hooks are applied outside the lanes, each in one
// transaction, under the lock of the agent's row. Each write is guarded by the revision that was read: if another writer
// was first, Commit returns [ErrMoved], and the lane looks again. No lock is held across tmux, the database or a file.
//
// # What a crash leaves
//
// An intention is committed before its effect, and the effect can be recognised afterwards: a pane by its mark, a
// typed text by a token that tmux itself checks, a process by pid and start time, a document by its path. A daemon
// that starts again goes on from the rows. What the rows do not say is settled by evidence, or fails visibly; nothing
// is typed twice on a guess. A daemon that stops leaves its agents running.
package daemon
