package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/understudyd/understudy/daemon/storetext"
)

// The SQLSTATEs with which a database that answers takes no writes.
const (
	readOnlyState = "25006" // a standby, a primary that was demoted, or default_transaction_read_only
	diskFullState = "53100"
)

// refusals watches every statement of every connection for a database that takes no writes.
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

// saw drops all connections when the database has refused a write: the next ones may reach a server that
// takes it. The host's lock is lost with its connection, so work ends until a write succeeds.
func (r refusals) saw(err error) {
	var server *pgconn.PgError
	if err == nil || !errors.As(err, &server) {
		return
	}
	switch server.Code {
	case diskFullState:
		r.db.full.Store(true)
	case readOnlyState:
	default:
		return
	}
	r.db.dropConnections()
}

// dropConnections closes every connection, those in use when they are given back.
func (db *DB) dropConnections() {
	db.mu.Lock()
	for conn := range db.kept {
		_ = conn.PgConn().Conn().Close() // its user gets the error
	}
	db.mu.Unlock()
	db.pool.Reset()
	db.reads.Reset()
}

// keep has a connection outside the pool dropped with all others. The caller calls forget before it
// closes the connection.
func (db *DB) keep(conn *pgx.Conn) (forget func()) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.kept[conn] = struct{}{}
	return func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		delete(db.kept, conn)
	}
}

const (
	// writeHost refuses in a read-only transaction, whether or not the row is there.
	writeHost = `UPDATE hosts SET last_seen = last_seen WHERE id = $1`
	// writeMuch takes half a megabyte of disk, for as long as the transaction lasts: on a disk that is full
	// a row that fits into a page's free space can still be written.
	writeMuch = `
		CREATE TEMPORARY TABLE understudy_room ON COMMIT DROP AS
		SELECT repeat(md5(n::text), 32) AS pad FROM generate_series(1, 512) AS n`
)

// TryWrite reports whether the database takes writes, by one to the host's own row. After the disk was
// full it also tries whether there is room again.
func (db *DB) TryWrite(ctx context.Context, host string) error {
	_, err := db.pool.Exec(ctx, writeHost, storetext.Text(host))
	if err == nil && db.full.Load() {
		if _, err = db.pool.Exec(ctx, writeMuch); !isAway(err) {
			db.full.Store(false) // an account that may not make temporary tables cannot tell
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("write to the row of host %s: %w", host, away(err))
	}
	return nil
}

// Probe reports whether a database can be reached and takes writes, with one connection. It need not have been
// migrated.
func Probe(ctx context.Context, connString string) error {
	db, err := Open(ctx, Config{ConnString: connString, MaxConns: 1})
	if err != nil {
		return away(err)
	}
	defer db.Close()
	if _, err = db.pool.Exec(ctx, writeMuch); isAway(err) {
		return away(err)
	}
	return nil // it may not allow temporary tables, which nothing needs
}
