package db

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
)

const selectFloor = `
	SELECT pruned_to, COALESCE((SELECT min(id) FROM events WHERE id > pruned_to), pruned_to + 1) AS oldest FROM log_floor`

// LogFloor says up to which event the event log has been pruned.
func (db *DB) LogFloor(ctx context.Context) (daemon.LogFloor, error) {
	return one[daemon.LogFloor](ctx, db, "log's floor", selectFloor)
}

// prunable says that an event may be deleted: it is older than $3, it is not an alert or notice that the
// operator must still be told, and its handoff and its pipeline have ended.
// Scalar subqueries are evaluated row by row, so that a batch reads no more than it deletes; joins would
// first read the whole event log.
const prunable = `
	at < $3 AND NOT ((alert OR notice <> '') AND alerted_at IS NULL)
	AND COALESCE((SELECT h.phase IN ('completed', 'failed', 'cancelled') FROM handoffs h WHERE h.id = handoff_id), true)
	AND COALESCE((SELECT p.status IN ('done', 'failed') FROM pipelines p WHERE p.id = pipeline_id), true)`

// deleteDoomed ends a statement that begins with the ids to delete, as "doomed". The floor rises in the
// same transaction, so a reader that misses an event finds the floor above it. Both statements skip rows
// that another host is deleting.
const deleteDoomed = `
	, gone AS (DELETE FROM events WHERE id = ANY(ARRAY(SELECT id FROM doomed)) RETURNING id, at),
	raised AS (
		UPDATE log_floor SET pruned_to = GREATEST(pruned_to, (SELECT max(id) FROM gone)) WHERE EXISTS (SELECT FROM gone))
	SELECT count(*) AS rows, max(at) AS newest FROM gone`

const pruneOldEvents = `
	WITH doomed AS (
		SELECT id FROM events WHERE at < $1 AND ` + prunable + `
		ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)` + deleteDoomed

// pruneManyEvents finds the newest event that exceeds $1 by counting back over the index alone.
const pruneManyEvents = `
	WITH doomed AS (
		SELECT id FROM events
		WHERE id <= (SELECT id FROM events ORDER BY id DESC OFFSET $1 LIMIT 1) AND ` + prunable + `
		ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)` + deleteDoomed

const pruneBatch = 5000 // rows

// PruneEvents deletes up to l.Max events (0: pruneBatch) that are older than l.Before, or that exceed l.Rows
// if none is older, the oldest first. It leaves events that are not prunable.
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

// pruneHooks leaves the hooks that an agent's row names, for they are read later on, such as for a step's output. No
// deleted hook can come again out of a spool: a daemon drains its spool before it prunes.
const pruneHooks = `
	WITH doomed AS (
		SELECT id FROM hook_events
		WHERE received_at < $1 AND COALESCE((
			SELECT hook_events.id NOT IN (a.last_prompt, a.last_stop, a.work_stop, a.last_hook, a.compact_hook)
			FROM agents a WHERE a.id = agent_id), true)
		ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED),
	gone AS (DELETE FROM hook_events WHERE id = ANY(ARRAY(SELECT id FROM doomed)) RETURNING received_at)
	SELECT count(*) AS rows, max(received_at) AS newest FROM gone`

// PruneHooks deletes up to l.Max hooks (0: pruneBatch) older than l.Before, the oldest first. It leaves hooks
// that an agent's row names.
func (db *DB) PruneHooks(ctx context.Context, l daemon.PruneLimits) (done daemon.Pruned, err error) {
	if l.Before.IsZero() {
		return done, nil
	}
	return db.prune(ctx, "old hooks", pruneHooks, l.Before, limitOr(l.Max, pruneBatch))
}

func (db *DB) prune(ctx context.Context, what, sql string, args ...any) (daemon.Pruned, error) {
	return one[daemon.Pruned](ctx, db, what, sql, args...)
}

// listOldPipelines finds pipelines that ended before $1, as all their agents did.
const listOldPipelines = `
	SELECT id FROM pipelines WHERE status IN ('done', 'failed') AND finished_at < $1 AND NOT EXISTS (
		SELECT FROM agents a WHERE a.pipeline_id = pipelines.id AND (a.ended_at IS NULL OR a.ended_at >= $1))
	ORDER BY finished_at, id LIMIT $2 FOR UPDATE SKIP LOCKED`

// The agents of a deleted pipeline stay, without a pipeline, until they are old enough themselves.
const (
	detachAgents    = `UPDATE agents SET pipeline_id = NULL, step_id = NULL, rev = rev + 1 WHERE pipeline_id = ANY($1)`
	deleteOutputs   = `DELETE FROM step_handoffs WHERE step_id = ANY(ARRAY(SELECT id FROM steps WHERE pipeline_id = ANY($1)))`
	deleteSteps     = `DELETE FROM steps WHERE pipeline_id = ANY($1)`
	deletePipelines = `DELETE FROM pipelines WHERE id = ANY($1)`
)

// listOldAgents finds agents that are the last of their line. A line is deleted from its end, so that a working agent
// keeps all its predecessors: each agent is given what they decided and said.
const listOldAgents = `
	SELECT id FROM agents WHERE ended_at < $1 AND pipeline_id IS NULL
		AND NOT EXISTS (SELECT FROM agents s WHERE s.previous_agent_id = agents.id)
		AND NOT EXISTS (SELECT FROM agents p WHERE p.id = agents.previous_agent_id AND p.ended_at IS NULL)
		AND NOT EXISTS (SELECT FROM step_handoffs o WHERE o.agent_id = agents.id)
		AND NOT EXISTS (SELECT FROM deliveries d WHERE d.agent_id = agents.id AND d.state <> 'done')
		AND NOT EXISTS (SELECT FROM handoffs h WHERE h.agent_id = agents.id AND h.phase NOT IN ('completed', 'failed', 'cancelled'))
		AND NOT EXISTS (SELECT FROM handoffs h WHERE h.successor_id = agents.id AND h.phase NOT IN ('completed', 'failed', 'cancelled'))
	ORDER BY ended_at, id LIMIT $2 FOR UPDATE SKIP LOCKED`

const listHandoffsOf = `SELECT id FROM handoffs WHERE agent_id = ANY($1) OR successor_id = ANY($1) ORDER BY id FOR UPDATE`

// deleteHooks and deleteAgents take the agents, deleteDeliveries the agents and the handoffs from or to them, the others
// these handoffs alone.
const (
	deleteTransitions = `DELETE FROM transitions WHERE handoff_id = ANY($1)`
	deleteRecords     = `DELETE FROM records WHERE handoff_id = ANY($1)`
	deleteDeliveries  = `DELETE FROM deliveries WHERE agent_id = ANY($1) OR handoff_id = ANY($2)`
	deleteHandoffs    = `DELETE FROM handoffs WHERE id = ANY($1)`
	deleteHooks       = `DELETE FROM hook_events WHERE agent_id = ANY($1)`
	deleteAgents      = `DELETE FROM agents WHERE id = ANY($1)`
)

// PruneHistory deletes pipelines that ended before a time, or agents if there is no such pipeline, the oldest first, with
// all rows that belong to them. It deletes at most so many of them (0: pruneBatch); the caller asks again until none is left.
func (db *DB) PruneHistory(ctx context.Context, before time.Time, most int) (done daemon.PrunedHistory, err error) {
	err = pgx.BeginTxFunc(ctx, db.pool, readCommitted, func(tx pgx.Tx) (err error) {
		done, err = pruneHistory(ctx, tx, before, limitOr(most, pruneBatch))
		return err
	})
	if err != nil {
		return daemon.PrunedHistory{}, fmt.Errorf("history: %w", unavailable(err))
	}
	return done, nil
}

// pruneHistory is PruneHistory within a transaction.
func pruneHistory(ctx context.Context, tx pgx.Tx, before time.Time, most int) (done daemon.PrunedHistory, err error) {
	pipelines, err := idsIn(ctx, tx, listOldPipelines, before, most)
	if err != nil {
		return done, err
	}
	if len(pipelines) > 0 {
		done.Pipelines = int64(len(pipelines))
		return done, sendAll(ctx, tx, []any{pipelines}, detachAgents, deleteOutputs, deleteSteps, deletePipelines)
	}
	agents, err := idsIn(ctx, tx, listOldAgents, before, most)
	if err != nil || len(agents) == 0 {
		return done, err
	}
	handoffs, err := idsIn(ctx, tx, listHandoffsOf, agents)
	if err != nil {
		return done, err
	}
	done.Agents, done.Handoffs = int64(len(agents)), int64(len(handoffs))
	if err := sendAll(ctx, tx, []any{handoffs}, deleteTransitions, deleteRecords); err != nil {
		return done, err
	}
	if err := sendAll(ctx, tx, []any{agents, handoffs}, deleteDeliveries); err != nil {
		return done, err
	}
	if err := sendAll(ctx, tx, []any{handoffs}, deleteHandoffs); err != nil {
		return done, err
	}
	return done, sendAll(ctx, tx, []any{agents}, deleteHooks, deleteAgents)
}

// WouldPrune counts what pruning would delete: it deletes the rows in a transaction and rolls that back.
func (db *DB) WouldPrune(ctx context.Context, l daemon.PruneLimits, history time.Time) (out daemon.PruneReport, err error) {
	const everything = math.MaxInt32
	tx, err := db.poolFor(ctx).Begin(ctx)
	if err != nil {
		return out, fmt.Errorf("prune, forecast: %w", unavailable(err))
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // if the connection is lost, the server rolls back
	for more := !history.IsZero(); more; {
		some, err := pruneHistory(ctx, tx, history, everything)
		if err != nil {
			return out, fmt.Errorf("prune, forecast: %w", unavailable(err))
		}
		out.Agents, out.Handoffs, out.Pipelines = out.Agents+some.Agents, out.Handoffs+some.Handoffs, out.Pipelines+some.Pipelines
		more = some != (daemon.PrunedHistory{})
	}
	count := func(to *int64, sql string, args ...any) {
		var rows int64
		var newest *time.Time
		if err == nil {
			err = tx.QueryRow(ctx, sql, args...).Scan(&rows, &newest)
			*to += rows
		}
	}
	young := time.Now().Add(-daemon.NeverPruned)
	if !l.Before.IsZero() {
		count(&out.Events, pruneOldEvents, l.Before, everything, young)
		count(&out.Hooks, pruneHooks, l.Before, everything)
	}
	if l.Rows > 0 {
		count(&out.Events, pruneManyEvents, l.Rows, everything, young)
	}
	if err != nil {
		return out, fmt.Errorf("prune, forecast: %w", unavailable(err))
	}
	return out, nil
}
