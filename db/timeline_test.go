package db

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestTimelinesAreReadByIndexes: with 200 agents at work and as many events as the log keeps by default for a busy day, a
// picture reads what it shows and no more.
func TestTimelinesAreReadByIndexes(t *testing.T) {
	t.Parallel()
	db := open(t)
	newAgent(t, db, nil)
	value(db.pool.Exec(t.Context(), `
		INSERT INTO agents SELECT (jsonb_populate_record(agents, jsonb_build_object('id', id + n, 'tmux_session', n, 'state', 'idle', 'ended_at', NULL,
			'persona', 'p' || n % 20, 'created_at', now() - interval '3 days'))).* FROM agents, generate_series(1, 200) AS n;
		INSERT INTO events (type, at, host, agent_id, payload, alert)
			SELECT CASE n % 4 WHEN 0 THEN 'agent_idle' WHEN 1 THEN 'agent_working' WHEN 2 THEN 'delivery_submitted' ELSE 'agent_seen' END,
				now() - n * interval '5 minutes', 'h1', id, '{}', false FROM agents, generate_series(1, 400) AS n;
		INSERT INTO context_samples SELECT id, now() - n * interval '9 minutes', 1, 1 FROM agents, generate_series(1, 100) AS n;
		ANALYZE`))(t)
	now := time.Now()
	lives := value(db.AgentLives(t.Context(), daemon.LifeQuery{Since: now.Add(-24 * time.Hour), Until: now, Limit: 1000}))(t)
	if len(lives) != 201 {
		t.Fatalf("%d lives", len(lives))
	}
	q := daemon.SpanQuery{Since: now.Add(-24 * time.Hour), Until: now}
	for _, l := range lives {
		q.AgentIDs = append(q.AgentIDs, l.ID)
	}
	began := time.Now()
	changes := value(db.StateChanges(t.Context(), q))(t)
	samples := value(db.ContextSamples(t.Context(), q))(t)
	t.Logf("%d changes and %d samples took %s", len(changes), len(samples), time.Since(began))
	wantIndexes(t, db, "states", listStateChanges, spanArgs(q), "events_states")
	wantIndexes(t, db, "samples", listSamples, spanArgs(q), "context_samples_pkey")
	wantIndexes(t, db, "old samples", pruneSamples, []any{now.Add(-14 * time.Hour), 100}, "context_samples_at")
}
