package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/db"
	"github.com/understudyd/understudy/db/localpg"
)

// database is the daemon's database: a shared one that a URL names, or a private cluster.
type database struct {
	db      *db.DB
	cluster *localpg.Cluster // nil if the database is shared
}

// ensure starts the private cluster again if it has ended, and tries to write to the database.
func (b *database) ensure(ctx context.Context, host string) error {
	if b.cluster != nil {
		if err := b.cluster.Ensure(ctx); err != nil {
			return err
		}
	}
	return b.db.TryWrite(ctx, host)
}

// openDatabase brings the schema up to date. If the settings name no database, it first starts the private cluster.
func openDatabase(ctx context.Context, cfg Config, dir data.Dir, done *closers) (*database, error) {
	b := &database{}
	conf := db.Config{ConnString: cfg.Settings.DatabaseURL, Log: cfg.Log}
	if conf.ConnString == "" {
		cluster, err := localpg.Start(ctx, localpg.Config{Dir: dir.Postgres(), Log: cfg.Log, NoSync: cfg.NoSync})
		if err != nil {
			return nil, err
		}
		b.cluster = cluster
		done.add(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if err := cluster.Stop(ctx); err != nil {
				cfg.Log.Warn("private PostgreSQL not stopped; the next daemon adopts it", "error", err)
			}
		})
		conf.ConnString, conf.Configure = cluster.ConnString(), cluster.Configure
	}
	var err error
	if b.db, err = db.OpenMigrated(ctx, conf); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	done.add(b.db.Close)
	return b, nil
}

// servers returns the process id of the private cluster's main process, or nothing if the database is shared.
func (b *database) servers() []int {
	if b.cluster == nil {
		return nil
	}
	return []int{b.cluster.PID()}
}

// stats returns the numbers about the database that the metrics report.
func (b *database) stats(ctx context.Context) (api.DatabaseStats, error) {
	err := b.db.Ping(ctx)
	return api.DatabaseStats(b.db.Stats()), err
}
