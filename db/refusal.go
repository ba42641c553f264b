package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/understudyd/understudy/daemon/storetext"
)

// The SQLSTATEs by which a database that answers refuses all writes.
const (
	readOnlyState = "25006" // a standby, a primary that was demoted, or default_transaction_read_only
	diskFullState = "53100"
)

// refusals traces every statement of every connection, to see when the database refuses a write.
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

// saw drops all connections when the database has refused a write: new connections may reach a server that
// accepts it. The host's lock is lost with its connection, so the daemon stops work until a write succeeds.
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

// dropConnections closes every connection. The pools close one that is in use when it is given back.
func (db *DB) dropConnections() {
	db.mu.Lock()
	for conn := range db.dedicated {
		_ = conn.PgConn().Conn().Close() // the goroutine that reads from it gets the error
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
	// writeHost fails in a read-only transaction, whether or not the row is there.
	writeHost = `UPDATE hosts SET last_seen = last_seen WHERE id = $1`
	// writeMuch takes half a megabyte of disk until the transaction ends. A smaller write proves nothing: on a
	// full disk the server can still write a row that fits into a page's free space.
	writeMuch = `
		CREATE TEMPORARY TABLE understudy_room ON COMMIT DROP AS
		SELECT repeat(md5(n::text), 32) AS pad FROM generate_series(1, 512) AS n`
)

// TryWrite writes to the host's own row and returns an error if the database refuses that. After the
// disk was full it also tries a larger write.
func (db *DB) TryWrite(ctx context.Context, host string) error {
	_, err := db.pool.Exec(ctx, writeHost, storetext.Text(host))
	if err == nil && db.diskFull.Load() {
		if _, err = db.pool.Exec(ctx, writeMuch); !isUnavailable(err) {
			db.diskFull.Store(false) // an account that may not make temporary tables cannot test for room
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
	return nil // other errors do not matter: the daemon needs no temporary tables
}
