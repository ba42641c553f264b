package db

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/understudyd/understudy/daemon"
)

const (
	// defaultMaxConns leaves most of a private server's 40 connections to other tools. Hooks and lanes together rarely
	// hold more than a few at once.
	defaultMaxConns = 10
	// readConns serve reads through the API, so that hooks and lanes never wait for a reader.
	readConns = 4
	// maxSearches is how many searches of the event log may run at the same time. A search may take seconds, so two of
	// the readConns remain for short reads.
	maxSearches = 2
)

// Config says where the database is and how to reach it.
type Config struct {
	ConnString string                // URL or keywords
	Configure  func(*pgx.ConnConfig) // changes each connection's settings last, such as DialFunc; may be nil
	MaxConns   int                   // of the pool; 0: pool_max_conns in ConnString, else 10
	Log        *slog.Logger          // nil: nothing is logged
}

// pools are two pools of connections.
type pools struct {
	pool  *pgxpool.Pool
	reads *pgxpool.Pool // for contexts made by daemon.AsReader
}

// rowStore reads and writes the rows of the domain.
type rowStore struct{ *pools }

// logStore has the event log, and what is kept for a time beside it: notifications that are sent, usage, samples.
type logStore struct {
	*pools
	search       chan struct{} // holds one element per running search of the event log
	auditTimeout time.Duration // only tests change it
}

// DB is a migrated database. What it does itself is about its connections and about the hosts that share it.
type DB struct {
	*pools
	rowStore
	logStore
	connect *pgx.ConnConfig // for connections outside the pools; copied before use
	log     *slog.Logger

	mu        sync.Mutex
	dedicated map[*pgx.Conn]struct{} // connections outside the pools; see track
	diskFull  atomic.Bool            // the server reported a full disk, and writeMuch has not succeeded since

	// Only tests change these.
	lockPace, listenPace pace
	ghostSilence         time.Duration
}

var _ daemon.Store = (*DB)(nil)

// Open connects to the database, which must have been migrated. The caller closes the DB.
func Open(ctx context.Context, c Config) (*DB, error) {
	config, err := c.parse()
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
	both := &pools{}
	db := &DB{
		pools: both, rowStore: rowStore{both}, logStore: logStore{both, make(chan struct{}, maxSearches), auditTimeout},
		log: log, dedicated: map[*pgx.Conn]struct{}{}, lockPace: lockPace, listenPace: listenPace, ghostSilence: ghostSilence,
	}
	tracers := []pgx.QueryTracer{refusals{db}}
	if t := config.ConnConfig.Tracer; t != nil {
		tracers = append(tracers, t)
	}
	config.ConnConfig.Tracer = multitracer.New(tracers...)
	config.PingTimeout = lockPace.answer // for the pool's pings of connections that were idle and may be dead
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

// Close waits for running queries and closes the pools. It ends neither a host lock nor a listener: their callers do.
func (db *pools) Close() {
	db.reads.Close()
	db.pool.Close()
}

// poolFor returns the pool on which to run a read: db.reads if ctx belongs to a reader, otherwise db.pool.
func (db *pools) poolFor(ctx context.Context) *pgxpool.Pool {
	if daemon.IsReader(ctx) {
		return db.reads
	}
	return db.pool
}

// Ping reports whether the database answers.
func (db *pools) Ping(ctx context.Context) error {
	if err := db.pool.Ping(ctx); err != nil {
		return fmt.Errorf("database connection: %w", err)
	}
	return nil
}

// parse returns the settings of a pool and of its connections.
func (c Config) parse() (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(c.ConnString)
	if err != nil {
		return nil, fmt.Errorf("database settings: %w", err)
	}
	// pgxpool removes pool_max_conns from the parsed settings, and its default depends on the machine.
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
	c.setDefaults(config.ConnConfig)
	return config, nil
}

// setDefaults sets our default for each setting that the connection string does not contain. It then calls Configure.
func (c Config) setDefaults(config *pgx.ConnConfig) {
	defaults := map[string]string{
		"application_name": "understudy",
		"timezone":         "UTC",
		// A daemon that hangs inside a transaction would block the event log for all daemons.
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
		config.ConnectTimeout = 10 * time.Second // else a connect to a silent server waits until the caller's context ends
	}
	config.DialFunc = newDialer().DialContext
	if c.Configure != nil {
		c.Configure(config)
	}
}

// registerTypes makes a connection return times in UTC rather than in the machine's zone, and
// replace NUL in the strings of stored structs.
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

// dial opens a connection outside the pools. pg_stat_activity shows it under name.
func (db *DB) dial(ctx context.Context, name string) (*pgx.Conn, error) {
	config := db.connect.Copy()
	config.RuntimeParams["application_name"] = name
	return pgx.ConnectConfig(ctx, config)
}

// PoolStats are figures of both connection pools since they were opened.
type PoolStats struct {
	Idle, Acquired, Constructing, Max int
	Waits                             int64 // how many requests found no idle connection and waited
	Waited                            time.Duration
}

// Stats returns the sum of both pools' figures. It does not query the database.
func (db *pools) Stats() PoolStats {
	var all PoolStats
	for _, pool := range []*pgxpool.Pool{db.pool, db.reads} {
		s := pool.Stat()
		all.Idle += int(s.IdleConns())
		all.Acquired += int(s.AcquiredConns())
		all.Constructing += int(s.ConstructingConns())
		all.Max += int(s.MaxConns())
		all.Waits += s.EmptyAcquireCount()
		all.Waited += s.EmptyAcquireWaitTime()
	}
	return all
}
