package dbtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// SetReadOnly makes all new sessions of the database read-only and ends those that are open, as when a
// primary is demoted. SetWritable makes new sessions writable again; sessions that are open stay read-only.
const (
	SetReadOnly = `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
		PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
	END $$`
	SetWritable = `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', current_database()); END $$`
)

// Admin returns a function that runs SQL in a session of its own. The session still writes after the database
// was made read-only for new sessions.
func Admin(t testing.TB, connString string) func(sql string) {
	t.Helper()
	config, err := pgxpool.ParseConfig(connString) // accepts a pool's settings as well
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}
