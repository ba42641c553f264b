package db

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
)

const selectFloor = `
	SELECT pruned_to, COALESCE((SELECT min(id) FROM events WHERE id > pruned_to), pruned_to + 1) AS oldest FROM log_floor`

// LogFloor says how far the log has been pruned.
func (db *DB) LogFloor(ctx context.Context) (daemon.LogFloor, error) {
	return one[daemon.LogFloor](ctx, db, "log's floor", selectFloor)
}

// prunable is what may go: it is older than $3, the operator need not be told of it any more, and what it
// belongs to has ended.
// Scalar subqueries are looked up row by row, so that a batch reads no more than it deletes; joins would be
// made over the whole log first.
const prunable = `
	at < $3 AND NOT ((alert OR notice <> '') AND alerted_at IS NULL)
	AND COALESCE((SELECT h.phase IN ('completed', 'failed', 'cancelled') FROM handoffs h WHERE h.id = handoff_id), true)
	AND COALESCE((SELECT p.status IN ('done', 'failed') FROM pipelines p WHERE p.id = pipeline_id), true)`

// deleteDoomed ends a statement that begins with the ids that are doomed. The floor rises in the same
// transaction, so whoever misses an event finds the floor above it. Rows that another host is deleting are
// left to it.
const deleteDoomed = `
	, gone AS (DELETE FROM events WHERE id = ANY(ARRAY(SELECT id FROM doomed)) RETURNING id, at),
	raised AS (
		UPDATE log_floor SET pruned_to = GREATEST(pruned_to, (SELECT max(id) FROM gone)) WHERE EXISTS (SELECT FROM gone))
	SELECT count(*) AS rows, max(at) AS newest FROM gone`

const pruneOldEvents = `
	WITH doomed AS (
		SELECT id FROM events WHERE at < $1 AND ` + prunable + `
		ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)` + deleteDoomed

// pruneManyEvents finds the newest event that is one too many by counting back over the index alone.
const pruneManyEvents = `
	WITH doomed AS (
		SELECT id FROM events
		WHERE id <= (SELECT id FROM events ORDER BY id DESC OFFSET $1 LIMIT 1) AND ` + prunable + `
		ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)` + deleteDoomed

const pruneBatch = 5000 // rows

// PruneEvents deletes some events that l does not want, the oldest first, but for those that must stay.
func (db *DB) PruneEvents(ctx context.Context, l daemon.PruneLimits) (done daemon.Pruned, err error) {
	young := time.Now().Add(-daemon.NeverPruned)
	if !l.Before.IsZero() {
		done, err = db.prune(ctx, "old events", pruneOldEvents, l.Before, limitOr(l.Max, pruneBatch), young)
	}
	if err == nil && done.Rows == 0 && l.Rows > 0 {
		done, err = db.prune(ctx, "too many events", pruneManyEvents, l.Rows, limitOr(l.Max, pruneBatch), young)
	}
	return done, err
}

// pruneHooks leaves what an agent's row names: it is read later on, as what a step has left. A hook that is older may not
// come again: a daemon drains its spool before it prunes.
const pruneHooks = `
	WITH doomed AS (
		SELECT id FROM hook_events
		WHERE received_at < $1 AND COALESCE((
			SELECT hook_events.id NOT IN (a.last_prompt, a.last_stop, a.work_stop, a.last_hook, a.compact_hook)
			FROM agents a WHERE a.id = agent_id), true)
		ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED),
	gone AS (DELETE FROM hook_events WHERE id = ANY(ARRAY(SELECT id FROM doomed)) RETURNING received_at)
	SELECT count(*) AS rows, max(received_at) AS newest FROM gone`

// PruneHooks deletes some hooks that are too old, the oldest first, but for those that must stay.
func (db *DB) PruneHooks(ctx context.Context, l daemon.PruneLimits) (done daemon.Pruned, err error) {
	if l.Before.IsZero() {
		return done, nil
	}
	return db.prune(ctx, "old hooks", pruneHooks, l.Before, limitOr(l.Max, pruneBatch))
}

func (db *DB) prune(ctx context.Context, what, sql string, args ...any) (daemon.Pruned, error) {
	return one[daemon.Pruned](ctx, db, what, sql, args...)
}
