package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/understudyd/understudy/daemon"
)

const (
	// defaultMaxConns leaves most of a private server's 40 connections to other tools; hooks and lanes together rarely
	// hold more than a few at once.
	defaultMaxConns = 10
	// readConns are for what people and programs read through the API, so that hooks and lanes never wait for it.
	readConns = 4
	// maxSearches leaves some of those to reads that take no time.
	maxSearches = 2
)

// Config says where the database is and how to reach it.
type Config struct {
	ConnString string                // URL or keywords
	Configure  func(*pgx.ConnConfig) // last changes to each connection's settings, such as DialFunc; may be nil
	MaxConns   int                   // of the pool; 0: what ConnString says as pool_max_conns, else 10
	Log        *slog.Logger          // nil: nothing is logged
}

// DB is two pools of connections to a migrated database.
type DB struct {
	pool    *pgxpool.Pool
	reads   *pgxpool.Pool   // see daemon.AsReader
	search  chan struct{}   // has one for each search of the log
	connect *pgx.ConnConfig // for connections outside the pool; copied before use
	log     *slog.Logger

	mu   sync.Mutex
	kept map[*pgx.Conn]struct{} // outside the pool; see keep
	full atomic.Bool            // the disk was, and no larger write has succeeded since

	// Varied in tests only.
	lockPace, listenPace pace
	ghostSilence         time.Duration
	auditTimeout         time.Duration
}

var _ daemon.Store = (*DB)(nil)

// Open connects to the database, which must have been migrated. The caller closes the DB.
func Open(ctx context.Context, c Config) (*DB, error) {
	config, err := c.settled()
	if err != nil {
		return nil, err
	}
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		registerTypes(conn.TypeMap())
		return nil
	}
	log := c.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	db := &DB{
		log: log, search: make(chan struct{}, maxSearches), kept: map[*pgx.Conn]struct{}{}, lockPace: lockPace, listenPace: listenPace, ghostSilence: ghostSilence, auditTimeout: auditTimeout,
	}
	config.ConnConfig.Tracer = multitracer.New(append(given(config.ConnConfig.Tracer), refusals{db})...)
	config.PingTimeout = lockPace.answer // of a connection that was idle: it may be dead
	db.connect = config.ConnConfig.Copy()
	if db.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	readers := config.Copy()
	readers.MaxConns, readers.MinConns = min(readConns, config.MaxConns), 0
	if db.reads, err = pgxpool.NewWithConfig(ctx, readers); err != nil {
		db.pool.Close()
		return nil, fmt.Errorf("database pool: %w", err)
	}
	if err := db.Ping(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// Close closes the pools, after the queries that are running. Host locks and listeners are their
// owners' to end.
func (db *DB) Close() {
	db.reads.Close()
	db.pool.Close()
}

// from is the pool for a read.
func (db *DB) from(ctx context.Context) *pgxpool.Pool {
	if daemon.IsReader(ctx) {
		return db.reads
	}
	return db.pool
}

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.pool.Ping(ctx); err != nil {
		return fmt.Errorf("database connection: %w", err)
	}
	return nil
}

// settled are the settings of a pool, and of its connections.
func (c Config) settled() (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(c.ConnString)
	if err != nil {
		return nil, fmt.Errorf("database settings: %w", err)
	}
	// The pool's settings are gone from the parsed ones, and its default depends on the machine.
	given, err := pgx.ParseConfig(c.ConnString)
	if err != nil {
		return nil, fmt.Errorf("database settings: %w", err)
	}
	if _, set := given.RuntimeParams["pool_max_conns"]; !set {
		config.MaxConns = defaultMaxConns
	}
	if c.MaxConns > 0 {
		config.MaxConns = int32(c.MaxConns)
	}
	c.settle(config.ConnConfig)
	return config, nil
}

// settle gives a connection's settings our defaults, which the connection string may override, and
// then the caller's changes.
func (c Config) settle(config *pgx.ConnConfig) {
	defaults := map[string]string{
		"application_name": "understudy",
		"timezone":         "UTC",
		// A daemon that hangs inside a transaction would hold up the event log for all.
		"idle_in_transaction_session_timeout": "10s",
		"statement_timeout":                   "30s",
	}
	maps.Copy(defaults, serverKeepalives)
	for name, value := range defaults {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second // else a server that says nothing is waited for as long as the caller waits
	}
	config.DialFunc = newDialer().DialContext
	if c.Configure != nil {
		c.Configure(config)
	}
}

// registerTypes makes a connection return times in UTC rather than in the machine's zone, and
// store structs whose strings hold NUL.
func registerTypes(m *pgtype.Map) {
	m.RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	m.RegisterType(&pgtype.Type{
		Name: "jsonb", OID: pgtype.JSONBOID,
		Codec: &pgtype.JSONBCodec{Marshal: marshalStorable, Unmarshal: json.Unmarshal},
	})
}

// dial opens a connection of its own, outside the pool, that shows under name in pg_stat_activity.
func (db *DB) dial(ctx context.Context, name string) (*pgx.Conn, error) {
	config := db.connect.Copy()
	config.RuntimeParams["application_name"] = name
	return pgx.ConnectConfig(ctx, config)
}

// one reads the single row of a query; what names it in errors. No row is [daemon.ErrNotFound].
func one[T any](ctx context.Context, db *DB, what, sql string, args ...any) (T, error) {
	rows, err := db.from(ctx).Query(ctx, sql, args...)
	if err == nil {
		var row T
		if row, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T]); err == nil {
			return row, nil
		}
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = daemon.ErrNotFound
	}
	var zero T
	return zero, fmt.Errorf("%s: %w", what, away(err))
}

// list reads the rows of a query, never nil.
func list[T any](ctx context.Context, db *DB, what, sql string, args ...any) ([]T, error) {
	rows, err := db.from(ctx).Query(ctx, sql, args...)
	if err == nil {
		var all []T
		if all, err = pgx.CollectRows(rows, pgx.RowToStructByName[T]); err == nil {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", what, away(err))
}

// ids reads a list of ids.
func (db *DB) ids(ctx context.Context, what, sql string, args ...any) ([]int64, error) {
	rows, err := db.from(ctx).Query(ctx, sql, args...)
	if err == nil {
		var ids []int64
		if ids, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err == nil {
			return ids, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", what, away(err))
}

// given is the tracer that Configure has set, if it has.
func given(t pgx.QueryTracer) []pgx.QueryTracer {
	if t == nil {
		return nil
	}
	return []pgx.QueryTracer{t}
}

// limitOr returns limit, or def where it is not set.
func limitOr(limit, def int) int {
	if limit <= 0 {
		return def
	}
	return limit
}

// violates reports whether err is the violation of one of the named constraints.
func violates(err error, constraints ...string) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	for _, name := range constraints {
		if pg.ConstraintName == name {
			return true
		}
	}
	return false
}
