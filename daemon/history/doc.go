// Package history is the room that deletes what the settings do not keep: events, hooks and samples, and agents, handoffs and pipelines that have
// ended long ago. Documents are files, and are never deleted.
//
// It writes no column; it deletes rows, in small transactions, and the files of launches whose agents are gone. What a crash leaves: the rest, for
// the next time.
package history
