package db

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
)

// listOldRuns finds runs that are over, and so are all their agents.
const listOldRuns = `
	SELECT id FROM pipelines WHERE status IN ('done', 'failed') AND finished_at < $1 AND NOT EXISTS (
		SELECT FROM agents a WHERE a.pipeline_id = pipelines.id AND (a.ended_at IS NULL OR a.ended_at >= $1))
	ORDER BY finished_at, id LIMIT $2 FOR UPDATE SKIP LOCKED`

// A run's agents stay as agents of none, and go by their own age.
const (
	leaveRuns     = `UPDATE agents SET pipeline_id = NULL, step_id = NULL, rev = rev + 1 WHERE pipeline_id = ANY($1)`
	deleteOutputs = `DELETE FROM step_handoffs WHERE step_id = ANY(ARRAY(SELECT id FROM steps WHERE pipeline_id = ANY($1)))`
	deleteSteps   = `DELETE FROM steps WHERE pipeline_id = ANY($1)`
	deleteRuns    = `DELETE FROM pipelines WHERE id = ANY($1)`
)

// listOldAgents finds agents with which a line ends. A line goes from its end, so that whoever works has all that came
// before it: what agents before it have decided and said is passed on to each later one.
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

// $1 are the agents, $2 the handoffs from them or to them.
const (
	deleteTransitions = `DELETE FROM transitions WHERE handoff_id = ANY($1)`
	deleteRecords     = `DELETE FROM records WHERE handoff_id = ANY($1)`
	deleteDeliveries  = `DELETE FROM deliveries WHERE agent_id = ANY($1) OR handoff_id = ANY($2)`
	deleteHandoffs    = `DELETE FROM handoffs WHERE id = ANY($1)`
	deleteHooks       = `DELETE FROM hook_events WHERE agent_id = ANY($1)`
	deleteAgents      = `DELETE FROM agents WHERE id = ANY($1)`
)

// PruneHistory deletes some runs that ended before a time, or if there are none some agents, the oldest first, with all
// that belongs to them.
func (db *DB) PruneHistory(ctx context.Context, before time.Time, most int) (done daemon.PrunedHistory, err error) {
	err = pgx.BeginTxFunc(ctx, db.pool, readCommitted, func(tx pgx.Tx) (err error) {
		done, err = forget(ctx, tx, before, limitOr(most, pruneBatch))
		return err
	})
	if err != nil {
		return daemon.PrunedHistory{}, fmt.Errorf("history: %w", away(err))
	}
	return done, nil
}

// forget is PruneHistory in a transaction.
func forget(ctx context.Context, tx pgx.Tx, before time.Time, most int) (done daemon.PrunedHistory, err error) {
	runs, err := idsIn(ctx, tx, listOldRuns, before, most)
	if err != nil {
		return done, err
	}
	if len(runs) > 0 {
		done.Runs = int64(len(runs))
		return done, sendAll(ctx, tx, []any{runs}, leaveRuns, deleteOutputs, deleteSteps, deleteRuns)
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

// WouldPrune deletes everything in a transaction, and takes that back.
func (db *DB) WouldPrune(ctx context.Context, l daemon.PruneLimits, history time.Time) (out daemon.PruneReport, err error) {
	const everything = math.MaxInt32
	tx, err := db.from(ctx).Begin(ctx)
	if err != nil {
		return out, fmt.Errorf("prune, forecast: %w", away(err))
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // a connection that is lost has taken it back
	for more := !history.IsZero(); more; {
		some, err := forget(ctx, tx, history, everything)
		if err != nil {
			return out, fmt.Errorf("prune, forecast: %w", away(err))
		}
		out.Agents, out.Handoffs, out.Pipelines = out.Agents+some.Agents, out.Handoffs+some.Handoffs, out.Pipelines+some.Runs
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
		return out, fmt.Errorf("prune, forecast: %w", away(err))
	}
	return out, nil
}

// idsIn reads a list of ids in a transaction.
func idsIn(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]int64, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// sendAll executes statements that take the same arguments.
func sendAll(ctx context.Context, tx pgx.Tx, args []any, statements ...string) error {
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql, args...); err != nil {
			return err
		}
	}
	return nil
}
