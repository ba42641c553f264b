package db

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/db/dbtest"
)

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, version := range []string{"1", "1", "2"} {
		if err := db.Heartbeat(t.Context(), Host{ID: "h1", Name: "one", Version: version}); err != nil {
			t.Fatal(err)
		}
	}
	hosts, err := db.Hosts(t.Context())
	if must(t, hosts, err); len(hosts) != 1 || hosts[0].Version != "2" || hosts[0].Name != "one" ||
		hosts[0].LastSeen.IsZero() || !hosts[0].StartedAt.Equal(hosts[0].LastSeen) {
		t.Errorf("hosts %+v", hosts)
	}
}

func lockHost(t *testing.T, db *DB, id string) *HostLock {
	t.Helper()
	l, err := db.LockHost(t.Context(), id)
	must(t, l, err)
	t.Cleanup(l.Release)
	return l
}

func isLost(l *HostLock) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

func TestHostHasOneDaemon(t *testing.T) {
	t.Parallel()
	db := open(t)
	first := lockHost(t, db, "h1")
	lockHost(t, db, "h2")
	if _, err := db.LockHost(t.Context(), "h1"); !errors.Is(err, ErrHostTaken) {
		t.Errorf("second daemon: %v", err)
	}
	first.Release()
	first.Release()
	second := lockHost(t, db, "h1")
	if isLost(first) || isLost(second) {
		t.Error("a lock that was released, or that is held, is lost")
	}
}

func TestHostIsFreeWhenItsHolderIsKilled(t *testing.T) {
	t.Parallel()
	db := open(t)
	first := lockHost(t, db, "h1")
	terminate(t, db, "understudy host lock")
	wait(t, "loss of the lock", first.Lost())
	lockHost(t, db, "h1")
	first.Release()
}

func TestHostLockIsPatientWithADyingHolder(t *testing.T) {
	t.Parallel()
	db := open(t)
	first := lockHost(t, db, "h1")
	taken := make(chan error, 1)
	go func() {
		l, err := db.LockHost(t.Context(), "h1")
		if err == nil {
			l.Release()
		}
		taken <- err
	}()
	eventually(t, "second daemon waits", func() bool {
		var n int
		err := db.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'understudy host lock'`).Scan(&n)
		return must(t, n, err) == 2
	})
	first.Release()
	if err := wait(t, "second daemon", taken); err != nil {
		t.Error(err)
	}
}

func TestLockHostObeysItsContext(t *testing.T) {
	t.Parallel()
	db := open(t)
	lockHost(t, db, "h1")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := db.LockHost(ctx, "h1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after its context: %v", err)
	}
	if l := lockHost(t, db, "h3"); isLost(l) {
		t.Error("lost")
	}
}

// link is a network that can go dead without a word.
type link struct {
	dead      atomic.Bool
	swallowed atomic.Int64 // writes
}

// linked returns a DB whose connections outside the pool run over a link.
func linked(t *testing.T) (*DB, *link) {
	t.Helper()
	l := &link{}
	url := dbtest.New(t, Migrate)
	db, err := Open(t.Context(), Config{ConnString: url, Configure: func(c *pgx.ConnConfig) {
		dial := c.DialFunc
		c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return linkConn{conn, l}, err
		}
	}})
	must(t, db, err)
	t.Cleanup(db.Close)
	db.quiet = 50 * time.Millisecond
	return db, l
}

type linkConn struct {
	net.Conn
	link *link
}

// Write pretends to have sent what a dead link swallows.
func (c linkConn) Write(b []byte) (int, error) {
	if c.link.dead.Load() {
		c.link.swallowed.Add(1)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func TestHostLockNoticesADeadLink(t *testing.T) {
	t.Parallel()
	db, link := linked(t)
	l := lockHost(t, db, "h1")
	eventually(t, "quiet connection is probed", func() bool {
		var n int
		err := db.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND application_name = 'understudy host lock' AND query NOT LIKE '%advisory%'`).Scan(&n)
		return must(t, n, err) == 1
	})
	if isLost(l) {
		t.Fatal("a quiet connection was taken for a dead one")
	}
	link.dead.Store(true)
	wait(t, "loss of the lock", l.Lost())
}
