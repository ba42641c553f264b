package db

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
)

// insertSample keeps one of several samples of one moment.
const insertSample = `INSERT INTO context_samples (agent_id, at, tokens, percent) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`

// samples queues the inserts of samples.
func (w *write) samples() {
	for i := range w.Samples {
		s := &w.Samples[i]
		w.batch.Queue(insertSample, s.AgentID, s.At, s.Tokens, s.Percent)
	}
}

const lifeOf = `
	id, name, COALESCE(persona, '') AS persona, generation, previous_agent_id, state, state_at, created_at, ended_at FROM agents
	WHERE created_at < $3 AND ($1::bigint[] = '{}' OR id = ANY($1)) AND `

// listLives reads the agents that have not ended apart from the others, because each has its own index.
const listLives = `SELECT ` + lifeOf + `ended_at IS NULL UNION ALL SELECT ` + lifeOf + `ended_at >= $2 ORDER BY id DESC LIMIT $4`

// AgentLives lists the agents that lived between q.Since and q.Until.
func (db *logStore) AgentLives(ctx context.Context, q daemon.LifeQuery) ([]daemon.AgentLife, error) {
	return list[daemon.AgentLife](ctx, db, "agents' lives", listLives, storable(notNil(q.IDs), q.Since, q.Until, limitOr(q.Limit, 100))...)
}

const ofStates = `
	FROM events WHERE agent_id = a.id AND type IN (
		'agent_created', 'agent_starting', 'agent_idle', 'agent_working', 'agent_waiting', 'agent_limited', 'agent_ended')`

// listStateChanges makes two short reads of the index events_states for each agent.
const listStateChanges = `
	SELECT a.id AS agent_id, CASE e.type WHEN 'agent_created' THEN 'starting' ELSE substr(e.type, 7) END AS state, e.at
	FROM unnest($1::bigint[]) AS a (id), LATERAL (
		(SELECT type, at, id ` + ofStates + ` AND at < $2 ORDER BY at DESC, id DESC LIMIT 1)
		UNION ALL
		(SELECT type, at, id ` + ofStates + ` AND at >= $2 AND at < $3 ORDER BY at DESC, id DESC LIMIT $4)) AS e
	ORDER BY a.id, e.at, e.id`

// StateChanges returns the changes of agents' states in a span of time, and of each agent the last one before.
func (db *logStore) StateChanges(ctx context.Context, q daemon.SpanQuery) ([]daemon.StateChange, error) {
	return list[daemon.StateChange](ctx, db, "states of agents", listStateChanges, spanArgs(q)...)
}

const listSamples = `
	SELECT a.id AS agent_id, s.at, s.tokens, s.percent
	FROM unnest($1::bigint[]) AS a (id), LATERAL (
		(SELECT * FROM context_samples WHERE agent_id = a.id AND at < $2 ORDER BY at DESC LIMIT 1)
		UNION ALL
		(SELECT * FROM context_samples WHERE agent_id = a.id AND at >= $2 AND at < $3 ORDER BY at DESC LIMIT $4)) AS s
	ORDER BY a.id, s.at`

// ContextSamples returns samples of how full agents' context windows were in a span of time, and of each agent the last one
// before.
func (db *logStore) ContextSamples(ctx context.Context, q daemon.SpanQuery) ([]daemon.ContextSample, error) {
	return list[daemon.ContextSample](ctx, db, "samples of contexts", listSamples, spanArgs(q)...)
}

func spanArgs(q daemon.SpanQuery) []any {
	return []any{notNil(q.AgentIDs), q.Since, q.Until, limitOr(q.Each, 500)}
}

const listCompletedMetrics = `SELECT ` + handoffMetrics + ` FROM handoffs WHERE status = 'completed' AND id <> $1 ORDER BY id DESC LIMIT $2`

// CompletedMetrics returns the metrics of the newest completed handoffs. It does not read their texts, which are large.
func (db *logStore) CompletedMetrics(ctx context.Context, except int64, limit int) ([]daemon.Metrics, error) {
	return collect(ctx, db, "metrics of handoffs", pgx.RowTo[daemon.Metrics], listCompletedMetrics, []any{except, limitOr(limit, 100)})
}

const pruneSamples = `
	WITH doomed AS (SELECT ctid FROM context_samples WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED),
	gone AS (DELETE FROM context_samples WHERE ctid = ANY(ARRAY(SELECT ctid FROM doomed)) RETURNING at)
	SELECT count(*) AS rows, max(at) AS newest FROM gone`

// PruneSamples deletes up to l.Max samples (0: pruneBatch) older than l.Before, the oldest first.
func (db *logStore) PruneSamples(ctx context.Context, l daemon.PruneLimits) (done daemon.Pruned, err error) {
	if l.Before.IsZero() {
		return done, nil
	}
	return db.prune(ctx, "old samples", pruneSamples, l.Before, limitOr(l.Max, pruneBatch))
}
