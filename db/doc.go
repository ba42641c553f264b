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
// know the outcome. It reads the rows again, and their guards tell. Wake-ups may be lost while a
// listener is not connected, so a listener that (re)connects is told that anything may have changed.
//
// # Ordering
//
// Each write is one READ COMMITTED transaction. It locks rows in a fixed order: agents by id, the
// handoff, deliveries by id, the pipeline with its steps. It appends to the event log last, under an
// advisory lock. Event ids are therefore in the order of the commits, and a reader that asks for the
// events after an id misses none. Rows are locked FOR NO KEY UPDATE only, so that a foreign key of a
// row inserted later in a transaction never waits for a lock out of that order.
//
// A write replaces a whole row, and only if the row has not changed since it was read (rev, seq, or
// phase and seq). If it has, the transaction is rolled back with [daemon.ErrMoved]. Rows without a
// guard of their own are written under the lock of another row: a record under its handoff's, steps
// under their pipeline's. A pipeline and its steps are read in one snapshot.
//
// A change that admits a pipeline first takes the admission lock of the pipeline's host, and only then
// counts what is running: of two pipelines that are admitted at once, the second counts the first.
//
// # Text
//
// PostgreSQL stores neither NUL nor invalid UTF-8, and agents may print both. Package db stores
// U+FFFD in their place rather than refuse the text: a strange byte must not stop a handoff.
package db
