package db

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/understudyd/understudy/db/dbtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) {
	code := dbtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// open returns a DB on a fresh, migrated database.
func open(t testing.TB) *DB {
	t.Helper()
	return opened(t, Config{ConnString: dbtest.New(t, Migrate)})
}

// opened returns a DB that is closed with the test.
func opened(t testing.TB, c Config) *DB {
	t.Helper()
	db := value(Open(t.Context(), c))(t)
	t.Cleanup(db.Close)
	return db
}

var must, equal, wantErr, holds = wardentest.Must, wardentest.Equal, wardentest.WantErr, wardentest.Holds

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

func failed[T any](v T, err error) func(testing.TB, string, ...any) { return wardentest.Failed(v, err) }

// execute runs a statement that may not fail.
func execute(t testing.TB, on interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
}, sql string, args ...any) {
	t.Helper()
	value(on.Exec(t.Context(), sql, args...))(t)
}

// now returns a time that PostgreSQL stores exactly.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// rowCount counts the rows of a table, or of a table WHERE something holds.
func rowCount(t testing.TB, db *DB, table string) (n int) {
	t.Helper()
	must(t, db.pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

var eventually = wardentest.Eventually

// wait receives from a channel; only a failing test waits long.
func wait[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("not within 30 s: " + what)
		panic("unreachable")
	}
}

// terminate makes the server end the sessions with an application name.
func terminate(t testing.TB, db *DB, name string) {
	t.Helper()
	tag, err := db.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = $1`, name)
	if err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("terminate %q: %v, %v", name, tag, err)
	}
}

func TestOpenNamesTheFault(t *testing.T) {
	t.Parallel()
	failed(Open(t.Context(), Config{ConnString: "postgres://%"}))(t, "bad settings were accepted")
	refused := errors.New("refused by test")
	c := Config{ConnString: dbtest.New(t, Migrate), Configure: func(c *pgx.ConnConfig) {
		c.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, refused }
	}}
	failed(Open(t.Context(), c))(t, "open", refused)
	wantErr(t, "migrate", c.Migrate(t.Context()), refused)
}

func TestSessionSettings(t *testing.T) {
	t.Parallel()
	db := open(t)
	for name, want := range map[string]string{
		"application_name": "understudy", "TimeZone": "UTC",
		"idle_in_transaction_session_timeout": "10s", "statement_timeout": "30s",
	} {
		var got string
		if err := db.pool.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	db := open(t)
	must(t, db.Ping(t.Context()))
	db.Close()
	wantErr(t, "a closed pool answers", db.Ping(t.Context()))
}

func TestPoolStats(t *testing.T) {
	t.Parallel()
	db := open(t)
	conn := value(db.pool.Acquire(t.Context()))(t)
	held := db.Stats()
	conn.Release()
	if s := db.Stats(); held.Acquired != 1 || s.Acquired != 0 || s.Idle < 1 || s.Max != defaultMaxConns+readConns {
		t.Errorf("with a connection taken %+v, without %+v", held, s)
	}
}

// TestPoolsAsTheAddressSays: the connection string may limit the pools, and every way to connect understands that.
func TestPoolsAsTheAddressSays(t *testing.T) {
	t.Parallel()
	for limit, max := range map[string]int{"3": 3 + 3, "7": 7 + readConns} {
		db := value(OpenMigrated(t.Context(), Config{ConnString: dbtest.With(dbtest.New(t, nil), "pool_max_conns", limit)}))(t)
		equal(t, "pool_max_conns "+limit, db.Stats().Max, max)
		db.Close()
	}
}
