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
	err := db.from(ctx).QueryRow(ctx, hostRoot, host).Scan(&root)
	if errors.Is(err, pgx.ErrNoRows) {
		err = daemon.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("host %s: data directory: %w", host, away(err))
	}
	return root, nil
}
