package db

import (
	"testing"
	"time"
)

// manyEvents fills the event log with events of one age.
func manyEvents(t testing.TB, db *DB, n int, at time.Time) {
	t.Helper()
	const fill = `INSERT INTO events (type, at, host, agent_id, payload, alert)
		SELECT 'agent_idle', $2, 'h1', i % 50 + 1, jsonb_build_object('hook', 'Stop', 'message', 'Event ' || i), false FROM generate_series(1, $1::int) i`
	if _, err := db.pool.Exec(t.Context(), fill, n, at); err != nil {
		t.Fatal(err)
	}
}
