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
	Version   string    // of its daemon
	DataRoot  string    // its data directory
	StartedAt time.Time // first heartbeat with this version
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

// Heartbeat stores that a host's daemon is running. It takes the times from the database's clock and ignores those
// in h, so that the clocks of several hosts need not agree.
func (db *DB) Heartbeat(ctx context.Context, h Host) error {
	if _, err := db.pool.Exec(ctx, upsertHost, storable(h.ID, h.Name, h.Version, h.DataRoot)...); err != nil {
		return fmt.Errorf("heartbeat of host %s: %w", h.ID, err)
	}
	return nil
}

const listHosts = `SELECT id, name, version, data_root, started_at, last_seen FROM hosts ORDER BY id`

// Hosts lists all hosts that ever sent a heartbeat.
func (db *DB) Hosts(ctx context.Context) ([]Host, error) {
	return list[Host](ctx, db, "list of hosts", listHosts)
}

const hostRoot = `SELECT data_root FROM hosts WHERE id = $1`

// HostRoot returns a host's data directory. If the host never sent a heartbeat, the error is [daemon.ErrNotFound].
func (db *DB) HostRoot(ctx context.Context, host string) (string, error) {
	var root string
	err := db.poolFor(ctx).QueryRow(ctx, hostRoot, host).Scan(&root)
	if errors.Is(err, pgx.ErrNoRows) {
		err = daemon.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("host %s: data directory: %w", host, unavailable(err))
	}
	return root, nil
}
