package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
)

// Host is one machine with a daemon.
type Host struct {
	ID        string
	Name      string
	Version   string    // of the daemon
	DataRoot  string    // its data directory
	StartedAt time.Time // of the first heartbeat with this version
	LastSeen  time.Time
}

const upsertHost = `INSERT INTO hosts (id, name, version, data_root, started_at, last_seen)
	VALUES ($1, $2, $3, $4, now(), now())
	ON CONFLICT (id) DO UPDATE SET
		name = EXCLUDED.name,
		version = EXCLUDED.version,
		data_root = EXCLUDED.data_root,
		started_at = CASE WHEN hosts.version = EXCLUDED.version THEN hosts.started_at ELSE now() END,
		last_seen = now()`

// Heartbeat notes that a host's daemon is there. The times are the database's, so that the clocks
// of several hosts need not agree; those of h are ignored.
func (db *DB) Heartbeat(ctx context.Context, h Host) error {
	if _, err := db.pool.Exec(ctx, upsertHost, storable(h.ID, h.Name, h.Version, h.DataRoot)...); err != nil {
		return fmt.Errorf("heartbeat of host %s: %w", h.ID, err)
	}
	return nil
}

const listHosts = `SELECT id, name, version, data_root, started_at, last_seen FROM hosts ORDER BY id`

// Hosts lists the hosts that were ever seen.
func (db *DB) Hosts(ctx context.Context) ([]Host, error) {
	return list[Host](ctx, db, "list of hosts", listHosts)
}

const hostRoot = `SELECT data_root FROM hosts WHERE id = $1`

// HostRoot returns the data directory of a host, daemon.ErrNotFound if it was never seen.
func (db *DB) HostRoot(ctx context.Context, host string) (string, error) {
	var root string
	err := db.pool.QueryRow(ctx, hostRoot, host).Scan(&root)
	if errors.Is(err, pgx.ErrNoRows) {
		err = daemon.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("host %s: data directory: %w", host, away(err))
	}
	return root, nil
}

// ErrHostTaken says that another daemon runs the host.
var ErrHostTaken = errors.New("another daemon runs this host on this database: stop that one, or give this one another name with --host")

// The lock of a daemon that was killed is free as soon as the server notices (at most a few
// milliseconds on one machine), which the daemon that is started in its place must not mistake for
// a living rival.
const (
	hostLockPatience = time.Second
	hostLockPoll     = 20 * time.Millisecond
)

// HostLock makes its holder the only daemon of a host. It lives as long as its connection.
type HostLock struct {
	lost    chan struct{}
	watched chan struct{} // closed when nobody uses the connection any more
	cancel  context.CancelFunc
	conn    *pgx.Conn
}

const tryHostLock = `SELECT pg_try_advisory_lock(hashtextextended('understudy host ' || $1, 0))`

// LockHost takes the host's lock, on a connection of its own; [ErrHostTaken] when another daemon
// has it. ctx is for the taking alone: the lock is held until Release.
func (db *DB) LockHost(ctx context.Context, hostID string) (*HostLock, error) {
	conn, err := db.dial(ctx, "understudy host lock")
	if err != nil {
		return nil, fmt.Errorf("lock of host %s: %w", hostID, err)
	}
	if err := awaitHostLock(ctx, conn, hostID); err != nil {
		closeConn(conn)
		return nil, fmt.Errorf("lock of host %s: %w", hostID, err)
	}
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &HostLock{lost: make(chan struct{}), watched: make(chan struct{}), cancel: cancel, conn: conn}
	go func() {
		defer close(l.watched)
		if err := db.watch(watch, conn, nil); err != nil {
			db.log.Error("host lock is lost", "host", hostID, "error", err)
			close(l.lost)
		}
	}()
	return l, nil
}

func awaitHostLock(ctx context.Context, conn *pgx.Conn, hostID string) error {
	tick := time.NewTicker(hostLockPoll)
	defer tick.Stop()
	for deadline := time.Now().Add(hostLockPatience); ; {
		var locked bool
		err := conn.QueryRow(ctx, tryHostLock, storableText(hostID)).Scan(&locked)
		switch {
		case err != nil:
			return err
		case locked:
			return nil
		case time.Now().After(deadline):
			return ErrHostTaken
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Lost is closed when the connection drops and another daemon may have the lock: start no effect
// after that. It is not closed by Release.
func (l *HostLock) Lost() <-chan struct{} { return l.lost }

// Release gives the lock back. It may be called more than once, and after the lock was lost.
func (l *HostLock) Release() {
	l.cancel()
	<-l.watched
	closeConn(l.conn)
}

// closeConn says goodbye to the server, which frees the session's locks at once.
func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // a connection that cannot be closed in good order is dropped all the same
}
