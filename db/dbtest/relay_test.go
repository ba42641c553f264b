package dbtest_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/understudyd/understudy/db/dbtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func execute(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		wardentest.Value(conn.Exec(t.Context(), sql))(t)
	}
}

func answer[T any](t *testing.T, conn *pgx.Conn, sql string) (v T) {
	t.Helper()
	must(t, conn.QueryRow(t.Context(), sql).Scan(&v))
	return v
}

// hangUp ends a client as a crash does: it sends the server no goodbye.
func hangUp(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	must(t, conn.PgConn().Conn().Close())
}

// succeed returns a client that got the session with this process id, once it is free.
func succeed(t *testing.T, relay *dbtest.Relay, pid uint32) *pgx.Conn {
	t.Helper()
	var next *pgx.Conn
	wardentest.Eventually(t, "a client that has the session", func() bool {
		next = connect(t, relay.ConnString())
		return next.PgConn().PID() == pid
	})
	return next
}

func TestRelayResetsSessions(t *testing.T) {
	t.Parallel()
	direct := dbtest.New(t, migrate)
	relay := dbtest.NewRelay(t, direct)
	first := connect(t, relay.ConnString())
	execute(t, first, "LISTEN news", "SET timezone = 'Asia/Tokyo'", "CREATE TEMPORARY TABLE scratch ()",
		"PREPARE one AS SELECT 1", "SELECT pg_advisory_lock(1)", "INSERT INTO note VALUES ('kept')")
	pid := first.PgConn().PID()
	hangUp(t, first)

	next := succeed(t, relay, pid)
	execute(t, next, "PREPARE one AS SELECT 2", "CREATE TEMPORARY TABLE scratch ()")
	equal(t, "the session listens to … channels of another client", answer[int](t, next, "SELECT count(*) FROM pg_listening_channels()"), 0)
	if got := answer[string](t, next, "SHOW timezone"); got == "Asia/Tokyo" {
		t.Error("the session has another client's time zone")
	}
	if !answer[bool](t, connect(t, direct), "SELECT pg_try_advisory_lock(1)") {
		t.Error("the session has another client's lock")
	}
	equal(t, "the note … is there", answer[string](t, next, "SELECT body FROM note"), "kept")
	if other := connect(t, dbtest.With(relay.ConnString(), "application_name", "other")); other.PgConn().PID() == pid {
		t.Error("a client with other settings has the session")
	}
}

// TestRelayEndsBusySessions: a session whose client left in the middle of something serves no other client.
func TestRelayEndsBusySessions(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*testing.T, *pgx.Conn){
		"in a transaction": func(t *testing.T, c *pgx.Conn) {
			execute(t, c, "BEGIN", "INSERT INTO note VALUES ('lost')")
		},
		"in a failed transaction": func(t *testing.T, c *pgx.Conn) {
			execute(t, c, "BEGIN")
			if _, err := c.Exec(t.Context(), "SELECT nothing"); err == nil {
				t.Fatal("no error")
			}
		},
		"in a query": func(_ *testing.T, c *pgx.Conn) {
			c.PgConn().Frontend().SendQuery(query("SELECT pg_sleep(0.3)"))
			_ = c.PgConn().Frontend().Flush()
		},
		"before the end of a request": func(_ *testing.T, c *pgx.Conn) {
			c.PgConn().Frontend().SendParse(parse("INSERT INTO note VALUES ('lost')"))
			_ = c.PgConn().Frontend().Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := dbtest.New(t, migrate)
			relay := dbtest.NewRelay(t, direct)
			first := connect(t, relay.ConnString())
			leave(t, first)
			hangUp(t, first)
			next := connect(t, relay.ConnString())
			if next.PgConn().PID() == first.PgConn().PID() {
				t.Error("the next client has the session")
			}
			equal(t, "notes of a client that did", answer[int](t, next, "SELECT count(*) FROM note"), 0)
			gone := "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)"
			wardentest.Eventually(t, "the end of the session", func() bool {
				var is bool
				return next.QueryRow(t.Context(), gone, first.PgConn().PID()).Scan(&is) == nil && is
			})
		})
	}
}

func TestRelayCancels(t *testing.T) {
	t.Parallel()
	relay := dbtest.NewRelay(t, dbtest.New(t, migrate))
	conn := connect(t, relay.ConnString())
	got := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "SELECT pg_sleep(60)")
		got <- err
	}()
	other := connect(t, dbtest.With(relay.ConnString(), "application_name", "other"))
	wardentest.Eventually(t, "the query", func() bool {
		return answer[bool](t, other, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database())")
	})
	must(t, conn.PgConn().CancelRequest(t.Context()))
	select {
	case err := <-got:
		if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "57014" {
			t.Errorf("the cancelled query ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the query continues")
	}
}

// TestRelayReportsTheServersEnd: a client learns that its session was ended, and no client is given such a session.
func TestRelayReportsTheServersEnd(t *testing.T) {
	t.Parallel()
	direct := dbtest.New(t, migrate)
	relay := dbtest.NewRelay(t, direct)
	admin := connect(t, direct)
	first := connect(t, relay.ConnString())
	end := func(pid uint32) {
		t.Helper()
		wardentest.Value(admin.Exec(t.Context(), "SELECT pg_terminate_backend($1, 30000)", pid))(t)
	}
	end(first.PgConn().PID())
	wire := first.PgConn().Conn()
	must(t, wire.SetReadDeadline(time.Now().Add(30*time.Second)))
	if _, err := io.Copy(io.Discard, wire); err != nil {
		t.Errorf("the end of a session does not close the connection of its client: %v", err)
	}
	wardentest.Failed(first.Exec(t.Context(), "SELECT 1"))(t, "a session that has ended")
	next := connect(t, relay.ConnString())
	pid := next.PgConn().PID()
	hangUp(t, next)
	hangUp(t, succeed(t, relay, pid))
	end(pid)
	wardentest.Eventually(t, "a session that answers", func() bool {
		return connect(t, relay.ConnString()).Ping(t.Context()) == nil
	})
}

func query(sql string) *pgproto3.Query { return &pgproto3.Query{String: sql} }

func parse(sql string) *pgproto3.Parse { return &pgproto3.Parse{Query: sql} }
