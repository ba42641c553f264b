package db

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the database's schema up to date. Several daemons may call it at once: one migrates,
// and the others wait for it.
func Migrate(ctx context.Context, connString string) error {
	return Config{ConnString: connString}.Migrate(ctx)
}

const (
	hasVersions    = `SELECT to_regclass('goose_db_version') IS NOT NULL`
	selectVersions = `SELECT version_id FROM goose_db_version WHERE is_applied ORDER BY version_id`
)

// OpenMigrated opens a database, and migrates its schema if that is not up to date. At nearly every start of a daemon
// the schema is up to date. OpenMigrated finds that out on the pool that the daemon needs anyway.
func OpenMigrated(ctx context.Context, c Config) (*DB, error) {
	db, err := Open(ctx, c)
	if err != nil {
		return nil, err
	}
	ready, err := db.upToDate(ctx)
	if err == nil && !ready {
		err = c.Migrate(ctx)
	}
	if err == nil {
		err = db.keepOldTrees(ctx)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// upToDate says whether exactly the migrations that this program contains were applied to the schema.
func (db *DB) upToDate(ctx context.Context) (bool, error) {
	var migrated bool
	if err := db.pool.QueryRow(ctx, hasVersions).Scan(&migrated); err != nil {
		return false, fmt.Errorf("database version: %w", err)
	}
	if !migrated {
		return false, nil
	}
	had, err := listIDs(ctx, db, "database version", selectVersions)
	if err != nil {
		return false, err
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return false, fmt.Errorf("embedded migrations: %w", err)
	}
	known := []int64{0} // goose's own row for an empty schema
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return false, fmt.Errorf("embedded migrations: %w", err)
		}
		known = append(known, version)
	}
	return slices.Equal(had, known), nil
}

// Migrate is the function [Migrate], with the connection settings of c.
func (c Config) Migrate(ctx context.Context) (err error) {
	p, err := c.migrator()
	if err != nil {
		return err
	}
	defer func() {
		if closed := p.Close(); err == nil && closed != nil {
			err = fmt.Errorf("database migration: %w", closed)
		}
	}()
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("database migration: %w", err)
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("database version: %w", err)
	}
	if have > want {
		return mayServe(ctx, c, have, want)
	}
	return nil
}

const selectOldest = `SELECT oldest FROM schema_oldest`

// mayServe is for a schema that is newer (version have) than this program (version want). It returns an error if the
// program must not work with the schema. A program that is one release older than the schema may work with it.
func mayServe(ctx context.Context, c Config, have, want int64) error {
	config, err := c.parse()
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return fmt.Errorf("database version: %w", err)
	}
	defer conn.Close(ctx)
	var oldest int64
	if err := conn.QueryRow(ctx, selectOldest).Scan(&oldest); err != nil {
		return fmt.Errorf("database version: %w", err)
	}
	if want >= oldest {
		return nil
	}
	return fmt.Errorf("database schema has version %d and this understudy knows only %d: "+
		"it was upgraded by an understudy that is more than one release newer, so upgrade this one, too", have, want)
}

// migrator returns goose on a pool of its own. The provider's Close closes the pool.
func (c Config) migrator() (*goose.Provider, error) {
	config, err := c.parse()
	if err != nil {
		return nil, err
	}
	config.ConnConfig.RuntimeParams["statement_timeout"] = "0" // a migration may take as long as it needs
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("embedded migrations: %w", err)
	}
	pool := stdlib.OpenDB(*config.ConnConfig)
	p, err := goose.NewProvider(goose.DialectPostgres, pool, files, goose.WithSessionLocker(migrationLock{}))
	if err != nil {
		_ = pool.Close() // no connection is open yet
		return nil, fmt.Errorf("embedded migrations: %w", err)
	}
	return p, nil
}

const (
	tryMigrationLock = `SELECT pg_try_advisory_lock(1970500729, 2)`
	migrationUnlock  = `SELECT pg_advisory_unlock(1970500729, 2)`
)

// migrationLock is the lock that goose takes before it migrates. It polls every 10 ms, because a daemon starts in
// 50 ms. goose's own lock polls in whole seconds.
type migrationLock struct{}

// SessionLock waits for the lock until ctx ends.
func (migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var locked bool
		if err := conn.QueryRowContext(ctx, tryMigrationLock).Scan(&locked); err != nil {
			return fmt.Errorf("migration lock: %w", err)
		}
		if locked {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("migration lock: %w", context.Cause(ctx))
		}
	}
}

// SessionUnlock frees the lock.
func (migrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, migrationUnlock); err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}
	return nil
}
