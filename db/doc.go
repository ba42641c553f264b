// Package db keeps everything the daemon knows in PostgreSQL: agents, handoffs with their
// transitions and records, deliveries, runs of pipelines with their steps, hooks and the event log.
// It implements [daemon.Store] with pgx and hand-written SQL, owns the schema (migrations/*.sql,
// applied by [Migrate]), the lock that makes a daemon the only one of its host ([DB.LockHost]) and
// the wake-ups between daemons ([DB.Listen]).
//
// # Ordering
//
// Each write is one READ COMMITTED transaction. It locks rows in a fixed order (agents by id, the
// handoff, deliveries by id, the run with its steps) and appends to the event log last, under an
// advisory lock: event ids are therefore in the order of the commits, and a reader that asks for what
// came after an id misses nothing. Rows are locked FOR NO KEY UPDATE only, so the foreign keys of rows
// that are inserted later in a transaction never wait for a lock out of that order.
//
// Existing rows are written whole, and only if they still are as they were read (rev, seq, or phase
// and seq); else the write is [daemon.ErrMoved] and nothing of it remains. What has no guard of its
// own is written under the lock of the row that moves with it: a record under its handoff's, steps
// under their run's. A run and its steps are read in one snapshot.
//
// A change that admits a run takes the admission lock of the run's host before all others, and only
// then looks what is at work: of two that are admitted at once the second sees the first.
//
// # Concurrency
//
// A [DB] is safe for concurrent use. A connection for the host lock and one for the wake-ups are
// kept beside the pool.
//
// # What a crash leaves
//
// Committed transactions, and nothing else: locks go with their connection. A writer whose
// connection breaks during COMMIT gets an error and cannot know the outcome; it reads the rows
// again, whose guards tell. Notifications may be lost with their listener, so a listener that
// (re)connects is told that anything may have changed.
//
// # Text
//
// PostgreSQL stores neither NUL nor invalid UTF-8, and what agents print may hold both. Such
// characters are stored as U+FFFD rather than refused: a strange byte must not stop a handoff.
package db
