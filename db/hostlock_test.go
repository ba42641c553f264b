package db

import (
	"context"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/db/dbtest"
	"github.com/understudyd/understudy/tmux"
)

// holder returns a run of a daemon on this machine, in the given data directory.
func holder(instance, directory string) Holder {
	return Holder{Instance: instance, Machine: "m1", Boot: "b1", Directory: directory, DataRoot: "/" + directory, PID: os.Getpid(), PIDStart: 1}
}

func lockHost(t *testing.T, db *DB, id string) *HostLock {
	t.Helper()
	l := value(db.LockHost(t.Context(), id, holder("first", "d1"), nil))(t)
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
	db := probing(open(t))
	first := lockHost(t, db, "h1")
	lockHost(t, db, "h2")
	failed(db.LockHost(t.Context(), "h1", holder("second", "d2"), nil))(t, "second daemon", ErrHostTaken)
	first.Release()
	first.Release()
	second := lockHost(t, db, "h1")
	if isLost(first) || isLost(second) {
		t.Error("Lost is closed for a lock that was released, or for one that is held")
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
		l, err := db.LockHost(t.Context(), "h1", holder("second", "d2"), nil)
		if err == nil {
			l.Release()
		}
		taken <- err
	}()
	eventually(t, "second daemon waits", func() bool {
		return rowCount(t, db, "pg_stat_activity WHERE datname = current_database() AND application_name = 'understudy host lock'") == 2
	})
	first.Release()
	must(t, wait(t, "second daemon", taken))
}

func TestLockHostObeysItsContext(t *testing.T) {
	t.Parallel()
	db := open(t)
	lockHost(t, db, "h1")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	failed(db.LockHost(ctx, "h1", holder("second", "d2"), nil))(t, "after its context", context.DeadlineExceeded)
	if l := lockHost(t, db, "h3"); isLost(l) {
		t.Error("lost")
	}
}

// link is a network that can silently lose all data.
type link struct {
	dead      atomic.Bool
	swallowed atomic.Int64 // writes
}

// linked returns a DB whose connections outside the pool run over a link.
func linked(t *testing.T) (*DB, *link) {
	t.Helper()
	l := &link{}
	url := dbtest.New(t, Migrate)
	db := opened(t, Config{ConnString: url, Configure: func(c *pgx.ConnConfig) {
		dial := c.DialFunc
		c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return linkConn{conn, l}, err
		}
	}})
	db.lockPace, db.listenPace = pace{50 * time.Millisecond, 50 * time.Millisecond}, pace{50 * time.Millisecond, 50 * time.Millisecond}
	return db, l
}

type linkConn struct {
	net.Conn
	link *link
}

// Write drops data on a dead link and reports it as sent.
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
		return rowCount(t, db, `pg_stat_activity WHERE datname = current_database()
			AND application_name = 'understudy host lock' AND query NOT LIKE '%advisory%'`) == 1
	})
	if isLost(l) {
		t.Fatal("a quiet connection was taken for a dead one")
	}
	link.dead.Store(true)
	wait(t, "loss of the lock", l.Lost())
}

// quick shortens the time that a session is watched before it is judged.
func quick(db *DB) *DB {
	db.lockPace, db.ghostSilence = pace{50 * time.Millisecond, 200 * time.Millisecond}, 500*time.Millisecond
	return db
}

// probing has a holder show often that it lives. On a machine that is busy, an answer that comes late is no dead connection.
func probing(db *DB) *DB {
	db.lockPace = pace{50 * time.Millisecond, time.Minute}
	return db
}

// overLink returns a DB whose connections go over a link.
func overLink(t *testing.T, url string) (*DB, *dbtest.Link) {
	t.Helper()
	l := dbtest.NewLink(t, url)
	return quick(opened(t, Config{ConnString: l.ConnString()})), l
}

// at opens a database directly, without a link.
func at(t *testing.T, url string) *DB {
	t.Helper()
	return quick(opened(t, Config{ConnString: url}))
}

// TestOwnSessionIsEndedAfterAChangeOfAddress: the daemon has lost its connection, and the server has not noticed.
func TestOwnSessionIsEndedAfterAChangeOfAddress(t *testing.T) {
	t.Parallel()
	db, link := overLink(t, dbtest.New(t, Migrate))
	me := holder("first", "d1")
	me.PIDStart = value(tmux.FindProcess(os.Getpid()))(t).Start // this process, which is alive
	l := value(db.LockHost(t.Context(), "h1", me, nil))(t)
	link.Cut()
	wait(t, "loss of the lock", l.Lost())
	l.Release()
	link.Mend()
	again := value(db.LockHost(t.Context(), "h1", me, nil))(t)
	defer again.Release()
	if b := again.Before(); b == nil || b.Instance != "first" {
		t.Errorf("the lock was held before by %+v", b)
	}
	if isLost(again) {
		t.Error("lost")
	}
}

// TestSessionOfAnEarlierBootIsEnded: the machine lost power, and the server has not noticed.
func TestSessionOfAnEarlierBootIsEnded(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t, Migrate)
	db, link := overLink(t, url)
	lockHost(t, db, "h1")
	link.Cut()
	now := holder("second", "d1")
	now.Boot = "b2"
	l := value(at(t, url).LockHost(t.Context(), "h1", now, nil))(t)
	l.Release()
}

// TestSessionOfAnotherIsWaitedFor: nothing proves that a silent holder has ended, so LockHost neither ends its
// session nor takes it for a rival.
func TestSessionOfAnotherIsWaitedFor(t *testing.T) {
	t.Parallel()
	same := holder("second", "d1") // its process is this one, which is alive
	self := value(tmux.FindProcess(os.Getpid()))(t)
	for name, row := range map[string]struct{ held, me Holder }{
		"a copied data directory":  {holder("first", "d1"), holder("second", "d2")},
		"another machine":          {holder("first", "d1"), Holder{Instance: "second", Machine: "m2", Boot: "b2", Directory: "d1"}},
		"a process that lives":     {Holder{Instance: "first", Machine: "m1", Boot: "b1", Directory: "d1", PID: self.PID, PIDStart: self.Start}, same},
		"a boot that is not known": {Holder{Instance: "first", Machine: "m1", Directory: "d1"}, same},
		"no names":                 {Holder{}, same},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.New(t, Migrate)
			db, link := overLink(t, url)
			first := value(db.LockHost(t.Context(), "h1", row.held, nil))(t)
			t.Cleanup(first.Release)
			link.Cut()
			wait(t, "loss of the lock", first.Lost())
			second, told, taken := at(t, url), make(chan string, 100), make(chan error, 1)
			go func() {
				l, err := second.LockHost(t.Context(), "h1", row.me, func(held string) { told <- held })
				if err == nil {
					l.Release()
				}
				taken <- err
			}()
			wait(t, "word of the wait", told)
			wait(t, "word of the wait, again", told)
			select {
			case err := <-taken:
				t.Fatalf("took the lock of a session that may be alive: %v", err)
			default:
			}
			terminate(t, second, "understudy host lock")
			if err := wait(t, "lock", taken); err != nil && !isUnavailable(err) { // terminate may have ended the waiting session as well: it has the same name
				t.Error(err)
			}
		})
	}
}

// TestLivingHolderIsARival, even if all its names are ours, as on a clone of this machine.
func TestLivingHolderIsARival(t *testing.T) {
	t.Parallel()
	db := probing(open(t))
	lockHost(t, db, "h1")
	me := holder("second", "d1")
	me.Boot = "b2"
	failed(db.LockHost(t.Context(), "h1", me, nil))(t, "a holder that lives", ErrHostTaken, "on machine m1, data directory /d1: stop that one")
}
