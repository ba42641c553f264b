package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/understudyd/understudy/daemon/storetext"
)

// The SQLSTATEs of a database that answers but refuses all writes.
const (
	readOnlyState = "25006" // a standby, a primary that was demoted, or default_transaction_read_only
	diskFullState = "53100"
)

// refusals traces every statement of every connection of the pools and of [DB.dial], to see when the database refuses
// a write.
type refusals struct{ db *DB }

var (
	_ pgx.QueryTracer = refusals{}
	_ pgx.BatchTracer = refusals{}
)

func (r refusals) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (r refusals) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	r.saw(data.Err)
}

func (r refusals) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (r refusals) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	r.saw(data.Err)
}

func (r refusals) TraceBatchEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	r.saw(data.Err)
}

// saw drops all connections if err says that the database refused a write, because new connections may reach a server
// that accepts writes. This also drops the connection that holds the host's lock, so the daemon stops work until a
// write succeeds.
func (r refusals) saw(err error) {
	var server *pgconn.PgError
	if err == nil || !errors.As(err, &server) {
		return
	}
	switch server.Code {
	case diskFullState:
		r.db.diskFull.Store(true)
	case readOnlyState:
	default:
		return
	}
	r.db.dropConnections()
}

// dropConnections closes every connection. A pool's connection that is in use is closed when it returns to its pool.
func (db *DB) dropConnections() {
	db.mu.Lock()
	for conn := range db.dedicated {
		_ = conn.PgConn().Conn().Close() // ignore the error: the goroutine that reads from the connection gets one
	}
	db.mu.Unlock()
	db.pool.Reset()
	db.reads.Reset()
}

// track makes dropConnections close a connection outside the pools as well. The caller calls untrack
// before it closes the connection.
func (db *DB) track(conn *pgx.Conn) (untrack func()) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.dedicated[conn] = struct{}{}
	return func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		delete(db.dedicated, conn)
	}
}

const (
	// writeHost fails in a read-only transaction, even if the row does not exist.
	writeHost = `UPDATE hosts SET last_seen = last_seen WHERE id = $1`
	// writeMuch takes half a megabyte of disk until the transaction ends. A smaller write proves nothing: on a
	// full disk the server can still write a row that fits into a page's free space.
	writeMuch = `
		CREATE TEMPORARY TABLE understudy_room ON COMMIT DROP AS
		SELECT repeat(md5(n::text), 32) AS pad FROM generate_series(1, 512) AS n`
)

// TryWrite writes to the host's row. It returns an error if the database refuses that write or does not answer. After
// the server reported a full disk, TryWrite also tries the larger write writeMuch.
func (db *DB) TryWrite(ctx context.Context, host string) error {
	_, err := db.pool.Exec(ctx, writeHost, storetext.Text(host))
	if err == nil && db.diskFull.Load() {
		if _, err = db.pool.Exec(ctx, writeMuch); !isUnavailable(err) {
			db.diskFull.Store(false) // also on other errors: an account that may not make temporary tables cannot test for room
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("write to the row of host %s: %w", host, unavailable(err))
	}
	return nil
}

// Probe connects to a database once and returns an error if it cannot be reached or refuses writes. The database
// need not have been migrated.
func Probe(ctx context.Context, connString string) error {
	db, err := Open(ctx, Config{ConnString: connString, MaxConns: 1})
	if err != nil {
		return unavailable(err)
	}
	defer db.Close()
	if _, err = db.pool.Exec(ctx, writeMuch); isUnavailable(err) {
		return unavailable(err)
	}
	return nil // ignore other errors, because the daemon needs no temporary tables
}
