// Package db keeps everything the daemon knows in PostgreSQL: agents, handoffs with their
// transitions and records, deliveries, pipelines with their steps, hooks and the event log.
// It implements [daemon.Store] with pgx and hand-written SQL. It also owns the schema
// (migrations/*.sql, applied by [Migrate]), the lock that makes a daemon the only one of its host
// ([DB.LockHost]) and the wake-ups between daemons ([DB.Listen]).
//
// # Concurrency
//
// A [DB] is safe for concurrent use. The host lock and the wake-ups have one connection each, outside
// the pools.
//
// # What a crash leaves
//
// A crash leaves the committed transactions and nothing else: the server frees a connection's locks
// when the connection ends. A writer whose connection breaks during COMMIT gets an error and cannot
// know the outcome. It reads the rows again, and their guards (rev, seq, phase) show the outcome.
// Wake-ups may be lost while a listener is not connected. [DB.Listen] therefore tells its listener after
// each connect that anything may have changed.
//
// # Ordering
//
// Each write is one READ COMMITTED transaction. It locks rows in a fixed order: agents by id, the
// handoff, deliveries by id, the pipeline with its steps. It appends to the event log last, under an
// advisory lock. Event ids are therefore in the order of the commits, and a reader that asks for the
// events after an id misses none. Rows are locked FOR NO KEY UPDATE only. This lock does not block the
// foreign keys of new rows, so an INSERT never waits for a lock out of the fixed order.
//
// A write replaces a whole row. If the row has changed since it was read (rev, seq, or phase and seq
// differ), the transaction is rolled back with [daemon.ErrMoved]. Some rows have no guard of their own
// and are written under the lock of another row: a record under the lock of its handoff, steps under the
// lock of their pipeline. A pipeline and its steps are read in one snapshot.
//
// A change that admits a pipeline takes the admission lock of the pipeline's host before it counts the
// running pipelines. If two changes admit pipelines at the same time, the second one counts the pipeline
// of the first one.
//
// # Text
//
// PostgreSQL stores neither NUL nor invalid UTF-8, and agents may print both. Package db does not refuse
// such a text, because a strange byte must not stop a handoff. It stores U+FFFD in place of the byte.
package db
