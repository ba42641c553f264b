// Package engine makes the rows of package daemon move: lanes, duties, commits, time that counts, settings, and what a process remembers. It is
// the lowest floor, and knows none above it: a floor or a room joins it with a [Part], and what it asks of one above is among its callouts. It
// writes events, how full an agent's context is, and what a change drops from a queue.
//
// # How it works
//
// Everything that matters is a row. A row is in a state. In an acting state the daemon runs an effect. A waiting state names
// the thing that the daemon waits for, and a deadline. The lane of an agent looks at the rows of one agent, does the one step that
// is due, commits it and looks again, until no step is due. It decides from stored facts alone, so it may run at any time
// and any number of times. A hook, a commit on another host, the end of a process, a timer and a sweep once a second only
// wake that lane. A room does the same for its own rows, such as those of a pipeline, in lanes of their own.
//
// # Ordering and concurrency
//
// The work for one agent runs in the agent's lane, one piece after the other. A pipeline has a lane as well. Different lanes
// run at the same time. A pipeline acts on its agents by writing their rows. Hooks are applied outside the lanes, each in
// one transaction, under the lock of the agent's row. Each write is guarded by the revision that was read: if another writer
// changed the row first, Commit returns [daemon.ErrMoved], and the lane reads the row again. No lock is held during a call of
// tmux, of the database or of the file system.
//
// # What a crash leaves
//
// The daemon commits an intention before its effect, and can recognise the effect afterwards: a pane by its mark, a typed
// text by a token that tmux itself checks, a process by pid and start time, a document by its path. A daemon that starts
// again goes on from the rows. If the rows do not say whether an effect took place, the daemon decides by evidence, or the
// work fails visibly. The daemon never types a text twice on a guess. A daemon that stops leaves its agents running.
package engine
