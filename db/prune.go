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

// LogFloor returns the highest id of a pruned event, and the id of the oldest event after it.
func (db *logStore) LogFloor(ctx context.Context) (daemon.LogFloor, error) {
	return one[daemon.LogFloor](ctx, db, "log's floor", selectFloor)
}

// prunable says that an event may be deleted: it is older than $3, it is not an alert or notice that the
// operator must still be told, and its handoff and its pipeline have ended.
// It uses scalar subqueries, which the server evaluates row by row, so that a batch stops reading when it is full.
// With joins the server would read the whole event log first.
const prunable = `
	at < $3 AND NOT ((alert OR notice <> '') AND alerted_at IS NULL)
	AND COALESCE((SELECT h.phase IN ('completed', 'failed', 'cancelled') FROM handoffs h WHERE h.id = handoff_id), true)
	AND COALESCE((SELECT p.status IN ('done', 'failed') FROM pipelines p WHERE p.id = pipeline_id), true)`

// deleteDoomed is the end of a statement whose beginning defines the ids to delete, as "doomed". The same transaction
// raises the floor (pruned_to), so a reader that misses an event finds that the floor is not below it. pruneOldEvents
// and pruneManyEvents skip rows that another host is deleting.
const deleteDoomed = `
	, gone AS (DELETE FROM events WHERE id = ANY(ARRAY(SELECT id FROM doomed)) RETURNING id, at),
	raised AS (
		UPDATE log_floor SET pruned_to = GREATEST(pruned_to, (SELECT max(id) FROM gone)) WHERE EXISTS (SELECT FROM gone))
	SELECT count(*) AS rows, max(at) AS newest FROM gone`

const pruneOldEvents = `
	WITH doomed AS (
		SELECT id FROM events WHERE at < $1 AND ` + prunable + `
		ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)` + deleteDoomed

// pruneManyEvents keeps the $1 newest events. It finds the newest event before those by counting back in the index,
// without reading the table.
const pruneManyEvents = `
	WITH doomed AS (
		SELECT id FROM events
		WHERE id <= (SELECT id FROM events ORDER BY id DESC OFFSET $1 LIMIT 1) AND ` + prunable + `
		ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)` + deleteDoomed

const pruneBatch = 5000 // rows

// PruneEvents deletes up to l.Max events (0: pruneBatch) that are older than l.Before, the oldest first. If no such
// event is left, it deletes events that exceed l.Rows, the oldest first. It leaves events that are not prunable.
func (db *logStore) PruneEvents(ctx context.Context, l daemon.PruneLimits) (done daemon.Pruned, err error) {
	young := time.Now().Add(-daemon.NeverPruned)
	if !l.Before.IsZero() {
		done, err = db.prune(ctx, "old events", pruneOldEvents, l.Before, limitOr(l.Max, pruneBatch), young)
	}
	if err == nil && done.Rows == 0 && l.Rows > 0 {
		done, err = db.prune(ctx, "too many events", pruneManyEvents, l.Rows, limitOr(l.Max, pruneBatch), young)
	}
	return done, err
}

// pruneHooks leaves the hooks that an agent's row names, because the daemon reads them later, such as for a step's
// output. A deleted hook cannot arrive again from a spool, because a daemon drains its spool before it prunes.
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
func (db *logStore) PruneHooks(ctx context.Context, l daemon.PruneLimits) (done daemon.Pruned, err error) {
	if l.Before.IsZero() {
		return done, nil
	}
	return db.prune(ctx, "old hooks", pruneHooks, l.Before, limitOr(l.Max, pruneBatch))
}

func (db *logStore) prune(ctx context.Context, what, sql string, args ...any) (daemon.Pruned, error) {
	return one[daemon.Pruned](ctx, db, what, sql, args...)
}

// listOldPipelines finds the pipelines that ended before $1 and whose agents all ended before $1.
const listOldPipelines = `
	SELECT id FROM pipelines WHERE status IN ('done', 'failed') AND finished_at < $1 AND NOT EXISTS (
		SELECT FROM agents a WHERE a.pipeline_id = pipelines.id AND (a.ended_at IS NULL OR a.ended_at >= $1))
	ORDER BY finished_at, id LIMIT $2 FOR UPDATE SKIP LOCKED`

// The agents and the work tree of a deleted pipeline stay, without a pipeline. A later call deletes the agents with listOldAgents.
const (
	detachAgents    = `UPDATE agents SET pipeline_id = NULL, step_id = NULL, rev = rev + 1 WHERE pipeline_id = ANY($1)`
	detachTrees     = `UPDATE worktrees SET pipeline_id = NULL, rev = rev + 1 WHERE pipeline_id = ANY($1)`
	deleteOutputs   = `DELETE FROM step_handoffs WHERE step_id = ANY(ARRAY(SELECT id FROM steps WHERE pipeline_id = ANY($1)))`
	deleteSteps     = `DELETE FROM steps WHERE pipeline_id = ANY($1)`
	deletePipelines = `DELETE FROM pipelines WHERE id = ANY($1)`
)

// listOldAgents finds agents that ended before $1 and have no successor. A line of agents is deleted from its newest
// agent backwards, so that a working agent keeps all its predecessors. It needs them: each agent is given the
// decisions and messages of its predecessors.
const listOldAgents = `
	SELECT id FROM agents WHERE ended_at < $1 AND pipeline_id IS NULL
		AND NOT EXISTS (SELECT FROM agents s WHERE s.previous_agent_id = agents.id)
		AND NOT EXISTS (SELECT FROM agents p WHERE p.id = agents.previous_agent_id AND p.ended_at IS NULL)
		AND NOT EXISTS (SELECT FROM step_handoffs o WHERE o.agent_id = agents.id)
		AND NOT EXISTS (SELECT FROM deliveries d WHERE d.agent_id = agents.id AND d.state <> 'done')
		AND NOT EXISTS (SELECT FROM handoffs h WHERE h.agent_id = agents.id AND h.phase NOT IN ('completed', 'failed', 'cancelled'))
		AND NOT EXISTS (SELECT FROM handoffs h WHERE h.successor_id = agents.id AND h.phase NOT IN ('completed', 'failed', 'cancelled'))
		AND NOT EXISTS (SELECT FROM handoff_heirs e JOIN handoffs h ON h.id = e.handoff_id
			WHERE e.agent_id = agents.id AND h.phase NOT IN ('completed', 'failed', 'cancelled'))
	ORDER BY ended_at, id LIMIT $2 FOR UPDATE SKIP LOCKED`

// listHandoffsOf finds the handoffs from or to agents. Their heirs' rows are deleted with them.
const listHandoffsOf = `
	SELECT id FROM handoffs WHERE agent_id = ANY($1) OR successor_id = ANY($1)
		OR id = ANY(ARRAY(SELECT handoff_id FROM handoff_heirs WHERE agent_id = ANY($1)))
	ORDER BY id FOR UPDATE`

// deletePermissions, deleteHooks and deleteAgents take the ids of agents. deleteDeliveries takes the ids of agents, and those of the
// handoffs from or to these agents. The others take the ids of these handoffs.
const (
	deleteTransitions = `DELETE FROM transitions WHERE handoff_id = ANY($1)`
	deleteRecords     = `DELETE FROM records WHERE handoff_id = ANY($1)`
	deleteDeliveries  = `DELETE FROM deliveries WHERE agent_id = ANY($1) OR handoff_id = ANY($2)`
	deleteHandoffs    = `DELETE FROM handoffs WHERE id = ANY($1)`
	deletePermissions = `DELETE FROM permissions WHERE agent_id = ANY($1)`
	deleteHooks       = `DELETE FROM hook_events WHERE agent_id = ANY($1)`
	deleteAgents      = `DELETE FROM agents WHERE id = ANY($1)`
)

// PruneHistory deletes up to most pipelines (0: pruneBatch) that ended before a time, the oldest first, with all rows
// that belong to them. If there is no such pipeline, it deletes agents in the same way. The caller calls it again until
// it deletes nothing.
func (db *logStore) PruneHistory(ctx context.Context, before time.Time, most int) (done daemon.PrunedHistory, err error) {
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
		return done, sendAll(ctx, tx, []any{pipelines}, detachAgents, detachTrees, deleteOutputs, deleteSteps, deletePipelines)
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
	return done, sendAll(ctx, tx, []any{agents}, deletePermissions, deleteHooks, deleteAgents)
}

// WouldPrune counts the rows that pruning would delete. It deletes them in a transaction, which it rolls back.
func (db *logStore) WouldPrune(ctx context.Context, l daemon.PruneLimits, history time.Time) (out daemon.PruneReport, err error) {
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
