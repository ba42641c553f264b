package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon/storetext"
	"github.com/understudyd/understudy/tmux"
)

// ErrHostTaken says that a living daemon already runs the host.
var ErrHostTaken = errors.New("another daemon runs this host on this database")

// Holder names one run of a daemon that takes a host's lock. If the daemon could not find out the value of a field,
// the field is empty and proves nothing.
type Holder struct {
	Instance  string // unique to this run of the daemon
	Machine   string // identity of the machine; a reboot does not change it
	Boot      string // identity of the machine's boot; each reboot changes it
	Directory string // identity of the data directory; a copy of the directory has another identity
	DataRoot  string
	PID       int
	PIDStart  uint64 // see [tmux.Process]
}

// sameDirectory says whether both runs use the same data directory of the same machine. The daemon that calls it
// holds the file lock of its data directory.
func (h Holder) sameDirectory(other Holder) bool {
	return h.Machine != "" && h.Machine == other.Machine && h.Directory != "" && h.Directory == other.Directory
}

// gone says whether the daemon h has certainly ended: the machine of me, which must be h's, was booted again, or h's
// process does not exist any more.
func (h Holder) gone(me Holder) bool {
	if h.Boot == "" || me.Boot == "" {
		return false
	}
	return h.Boot != me.Boot || !tmux.Process{PID: h.PID, Start: h.PIDStart}.Alive()
}

// pace says how watch probes a connection: watch sends a probe when the connection was silent for quiet, and gives up
// if the probe has no answer within answer.
type pace struct{ quiet, answer time.Duration }

// lockPace makes a holder notice a dead connection within four seconds. The server ends the session of a silent
// client only after ten seconds or more ([serverKeepalives]). So the holder stops before another daemon can get its lock.
var lockPace = pace{quiet: time.Second, answer: 3 * time.Second}

const (
	// hostLockPatience is how long a claim waits for the session of a killed daemon to end. Usually it ends within
	// milliseconds.
	hostLockPatience = time.Second
	hostLockPoll     = 20 * time.Millisecond
	// ghostSilence is how long a session must be silent before it may count as a ghost. A ghost is a session that the
	// server still has although its daemon has ended. A living holder probes its connection each second.
	ghostSilence = 5 * time.Second
	// askHolder limits the queries of each attempt, so that the claim notices if its connection has died.
	askHolder = 5 * time.Second
)

// HostLock makes its holder the only daemon of a host. The server frees it when its connection ends.
type HostLock struct {
	before  *Holder
	lost    chan struct{}
	watched chan struct{} // closed when the watching goroutine no longer uses the connection
	cancel  context.CancelFunc
	conn    *pgx.Conn
	untrack func()
}

// hostKey is the key of the host's advisory lock.
const hostKey = `hashtextextended('understudy host ' || $1, 0)`

const tryHostLock = `SELECT pg_try_advisory_lock(` + hostKey + `)`

// LockHost takes the host's lock for the daemon me, on a connection of its own. If another session holds the lock,
// LockHost finds out which daemon opened that session. If that daemon is alive, LockHost returns [ErrHostTaken]. If
// the session is a ghost of this daemon or of an earlier run in its data directory, LockHost ends the session. While
// neither is certain, LockHost waits, and calls waiting (may be nil) every few seconds with a description of the
// session. ctx limits only the wait: after LockHost has returned, the lock is held until Release.
func (db *DB) LockHost(ctx context.Context, host string, me Holder, waiting func(held string)) (*HostLock, error) {
	l, err := db.lockHost(ctx, host, me, waiting)
	if err != nil {
		return nil, fmt.Errorf("lock of host %s: %w", host, unavailable(err))
	}
	return l, nil
}

func (db *DB) lockHost(ctx context.Context, host string, me Holder, waiting func(string)) (*HostLock, error) {
	conn, err := db.dial(ctx, "understudy host lock")
	if err != nil {
		return nil, err
	}
	l := &HostLock{lost: make(chan struct{}), watched: make(chan struct{}), conn: conn}
	c := claim{db: db, conn: conn, host: host, me: me, waiting: waiting}
	if err = c.await(ctx); err == nil {
		l.before, err = c.sign(ctx)
	}
	if err != nil {
		closeConn(conn)
		return nil, err
	}
	watched, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	l.untrack = db.track(conn)
	go func() {
		defer close(l.watched)
		if err := watch(watched, conn, db.lockPace, nil); err != nil {
			db.log.Error("host lock is lost", "host", host, "error", err)
			close(l.lost)
			db.dropConnections() // they are probably dead as well, and otherwise each fails only at its next use
		}
	}()
	return l, nil
}

// Lost returns a channel that is closed when the connection has failed. Another daemon may then get the lock, so the
// caller must start no effect after that. Release does not close the channel.
func (l *HostLock) Lost() <-chan struct{} { return l.lost }

// Before returns the daemon that signed for the lock before this one, or nil if no daemon had signed.
func (l *HostLock) Before() *Holder { return l.before }

// Release frees the lock. It may be called more than once, and after the lock was lost.
func (l *HostLock) Release() {
	l.untrack()
	l.cancel()
	<-l.watched
	closeConn(l.conn)
}

// closeConn closes the connection in good order, so that the server frees the session's locks at once.
func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // ignore the error: pgx drops a connection that it cannot close in good order
}

// claim is one daemon's attempt to take a host's lock.
type claim struct {
	db      *DB
	conn    *pgx.Conn
	host    string
	me      Holder
	waiting func(string)

	first session   // the session that holds the lock, as first seen
	since time.Time // when it was first seen
	said  time.Time // when waiting was last called
}

// session is the database session that holds the lock. Times are nil if our account may not see them. The
// fields of Holder are empty if the session's daemon has not signed.
type session struct {
	BackendPID   int
	BackendStart *time.Time
	ActiveAt     *time.Time
	Holder
}

const selectHostSession = `
	SELECT l.pid AS backend_pid, s.backend_start, s.state_change AS active_at,
		COALESCE(h.instance, '') AS instance, COALESCE(h.machine, '') AS machine, COALESCE(h.boot, '') AS boot,
		COALESCE(h.directory, '') AS directory, COALESCE(h.data_root, '') AS data_root,
		COALESCE(h.pid, 0) AS pid, COALESCE(h.pid_start, 0) AS pid_start
	FROM pg_locks AS l
	LEFT JOIN pg_stat_activity AS s ON s.pid = l.pid
	LEFT JOIN host_holders AS h ON h.host = $1 AND h.backend_pid = l.pid AND h.backend_start = s.backend_start
	WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND l.classid = ((` + hostKey + ` >> 32) & 4294967295)::oid AND l.objid = (` + hostKey + ` & 4294967295)::oid`

// await returns when the connection holds the lock.
func (c *claim) await(ctx context.Context) error {
	tick := time.NewTicker(hostLockPoll)
	defer tick.Stop()
	for {
		locked, err := c.try(ctx)
		if err != nil || locked {
			return err
		}
		select {
		case <-tick.C:
			if !c.since.IsZero() && time.Since(c.since) > hostLockPatience {
				tick.Reset(10 * hostLockPoll)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// try asks for the lock one time. If another session holds the lock, try judges that session: it returns
// [ErrHostTaken] for a living rival, and ends a ghost of our own.
func (c *claim) try(ctx context.Context) (locked bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askHolder)
	defer cancel()
	if err := c.conn.QueryRow(ctx, tryHostLock, storetext.Text(c.host)).Scan(&locked); err != nil || locked {
		return locked, err
	}
	rows, err := c.conn.Query(ctx, selectHostSession, storetext.Text(c.host))
	if err != nil {
		return false, err
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[session])
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil // the session has just ended
	}
	if err != nil {
		return false, err
	}
	switch c.judge(s, time.Now()) {
	case rivalAlive:
		return false, fmt.Errorf("%w: %s: stop that one, or give this one another name with --host", ErrHostTaken, s.describe())
	case ownGhost:
		return false, c.end(ctx, s)
	}
	return false, nil
}

// judgement is the opinion of a claim about the session that holds the lock.
type judgement int

const (
	unknown judgement = iota
	rivalAlive
	ownGhost
)

func (c *claim) judge(s session, now time.Time) judgement {
	if c.since.IsZero() || s.BackendPID != c.first.BackendPID || !sameTime(s.BackendStart, c.first.BackendStart) {
		c.first, c.since = s, now
	}
	watched := now.Sub(c.since)
	switch {
	case s.Instance != "" && s.Instance == c.me.Instance:
		return ownGhost // this run of the daemon left the session itself, on an earlier connection
	case !sameTime(s.ActiveAt, c.first.ActiveAt):
		if watched < hostLockPatience {
			return unknown // the session may be ending
		}
		return rivalAlive
	case s.sameDirectory(c.me) && s.gone(c.me) && s.ActiveAt != nil && watched >= c.db.ghostSilence:
		return ownGhost
	}
	if watched >= hostLockPatience && now.Sub(c.said) >= c.db.ghostSilence && c.waiting != nil {
		c.said = now
		c.waiting(s.describe())
	}
	return unknown
}

func sameTime(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

// describe names the session's daemon for people.
func (s session) describe() string {
	if s.Instance == "" {
		return fmt.Sprintf("database session %d, of a daemon that did not say who it is", s.BackendPID)
	}
	return fmt.Sprintf("database session %d, of process %d on machine %s, data directory %s", s.BackendPID, s.PID, s.Machine, s.DataRoot)
}

const endSession = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2`

// end ends a ghost that an earlier run of this daemon left.
func (c *claim) end(ctx context.Context, s session) error {
	if _, err := c.conn.Exec(ctx, endSession, s.BackendPID, s.BackendStart); err != nil {
		return fmt.Errorf("end of our own abandoned session %d: %w", s.BackendPID, err)
	}
	c.db.log.Warn("ended the database session of an earlier run, which still held the host's lock", "host", c.host,
		"session", s.BackendPID, "process", s.PID, "other_boot", s.Boot != c.me.Boot)
	return nil
}

const selectHolder = `SELECT instance, machine, boot, directory, data_root, pid, pid_start FROM host_holders WHERE host = $1`

const upsertHolder = `
	INSERT INTO host_holders (host, backend_pid, backend_start, instance, machine, boot, directory, data_root, pid, pid_start, taken_at)
	SELECT $1, pid, backend_start, $2, $3, $4, $5, $6, $7, $8, now() FROM pg_stat_activity WHERE pid = pg_backend_pid()
	ON CONFLICT (host) DO UPDATE SET
		backend_pid = EXCLUDED.backend_pid, backend_start = EXCLUDED.backend_start, instance = EXCLUDED.instance,
		machine = EXCLUDED.machine, boot = EXCLUDED.boot, directory = EXCLUDED.directory, data_root = EXCLUDED.data_root,
		pid = EXCLUDED.pid, pid_start = EXCLUDED.pid_start, taken_at = EXCLUDED.taken_at`

// sign stores that me holds the lock, and returns the daemon that signed before, or nil. It fails if the database
// refuses writes. That is intended: the advisory lock alone proves nothing, because a standby grants it as well.
func (c *claim) sign(ctx context.Context) (*Holder, error) {
	ctx, cancel := context.WithTimeout(ctx, askHolder)
	defer cancel()
	rows, err := c.conn.Query(ctx, selectHolder, storetext.Text(c.host))
	if err != nil {
		return nil, err
	}
	before, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[Holder])
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	m := c.me
	_, err = c.conn.Exec(ctx, upsertHolder, storable(c.host, m.Instance, m.Machine, m.Boot, m.Directory, m.DataRoot, m.PID, int64(m.PIDStart))...)
	return before, err
}
