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
	db, err := Open(t.Context(), c)
	noErr(t, err)
	t.Cleanup(db.Close)
	return db
}

// must unwraps the result of a call that may not fail.
func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	noErr(t, err)
	return v
}

// noErr ends the test at an error.
func noErr(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// execute runs a statement that may not fail.
func execute(t testing.TB, on interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
}, sql string, args ...any) {
	t.Helper()
	_, err := on.Exec(t.Context(), sql, args...)
	noErr(t, err)
}

// now returns a time that PostgreSQL stores exactly.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// rowCount counts the rows of a table.
func rowCount(t testing.TB, db *DB, table string) (n int) {
	t.Helper()
	noErr(t, db.pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
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

var equal = wardentest.Equal

func TestOpenNamesTheFault(t *testing.T) {
	t.Parallel()
	if _, err := Open(t.Context(), Config{ConnString: "postgres://%"}); err == nil {
		t.Error("bad settings were accepted")
	}
	refused := errors.New("refused by test")
	c := Config{ConnString: dbtest.New(t, Migrate), Configure: func(c *pgx.ConnConfig) {
		c.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, refused }
	}}
	if _, err := Open(t.Context(), c); !errors.Is(err, refused) {
		t.Errorf("open: %v, want the dialler's error", err)
	}
	if err := c.Migrate(t.Context()); !errors.Is(err, refused) {
		t.Errorf("migrate: %v, want the dialler's error", err)
	}
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
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	db.Close()
	if err := db.Ping(t.Context()); err == nil {
		t.Error("a closed pool answers")
	}
}

func TestPoolStats(t *testing.T) {
	t.Parallel()
	db := open(t)
	conn, err := db.pool.Acquire(t.Context())
	must(t, conn, err)
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
		db, err := OpenMigrated(t.Context(), Config{ConnString: dbtest.With(dbtest.New(t, nil), "pool_max_conns", limit)})
		noErr(t, err)
		if s := db.Stats(); s.Max != max {
			t.Errorf("pool_max_conns %s: %d connections, want %d", limit, s.Max, max)
		}
		db.Close()
	}
}
