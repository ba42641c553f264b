package dbtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// SetReadOnly has all new sessions of the database be read-only and ends those that are open, as when a
// primary is demoted. SetWritable has new sessions take writes again; those that are open stay read-only.
const (
	SetReadOnly = `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
		PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
	END $$`
	SetWritable = `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', current_database()); END $$`
)

// Admin returns what runs SQL in a session of its own, which goes on writing when the database is read-only
// for those that come later.
func Admin(t testing.TB, connString string) func(sql string) {
	t.Helper()
	config, err := pgxpool.ParseConfig(connString) // a pool's, perhaps
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
