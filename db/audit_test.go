package db

import (
	"errors"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
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

// TestAuditThatIsSlow makes a search wait for a lock until its time limit.
func TestAuditThatIsSlow(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.auditTimeout = 50 * time.Millisecond
	tx, err := db.pool.Begin(t.Context())
	must(t, tx, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), "LOCK TABLE events"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Audit(t.Context(), daemon.AuditFilter{})
	var told *daemon.Error
	if !errors.As(err, &told) || told.Code != "audit_too_slow" || told.Kind != daemon.KindUnprocessable {
		t.Errorf("got %v", err)
	}
}
