package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/db"
)

// keeper holds the host's lock for this process, and runs the daemon's work while it holds the lock. Without the lock
// the daemon must do nothing, because another daemon may hold it.
type keeper struct {
	cfg  Config
	base *database
	d    *intake.Daemon
	me   db.Holder
	lock *db.HostLock // nil until begin has taken it
}

func newKeeper(cfg Config, base *database, d *intake.Daemon, dir data.Dir) (*keeper, error) {
	me, err := thisRun(dir)
	return &keeper{cfg: cfg, base: base, d: d, me: me}, err
}

// begin takes the lock for the first time. While it waits for the lock, the server tells clients that the daemon is
// waiting.
func (k *keeper) begin(ctx context.Context, server *api.Server, ls api.Listeners) (err error) {
	var waiting sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	defer waiting.Wait()
	defer stop()
	waits := sync.OnceFunc(func() {
		waiting.Go(func() { server.ServeWaiting(ctx, ls, k.d.Interrupted) })
	})
	k.lock, err = k.take(ctx, waits, func(err error) bool {
		told, ok := errors.AsType[*daemon.Error](err)
		return ok && told.Kind == daemon.KindUnavailable
	})
	if err != nil {
		return err
	}
	if b := k.lock.Before(); b != nil && (b.Machine != k.me.Machine || b.Directory != k.me.Directory) {
		return k.d.RanElsewhere(ctx, b.Machine, b.DataRoot)
	}
	return nil
}

func (k *keeper) release() {
	if k.lock != nil {
		k.lock.Release()
	}
}

// run lets the daemon work until ctx ends. When the lock is lost, run stops the work and takes the lock again. Then the
// daemon continues the work that the database holds.
func (k *keeper) run(ctx context.Context) error {
	for {
		k.work(ctx)
		if ctx.Err() != nil {
			return nil
		}
		k.d.Interrupt(ctx, nil)
		lost := time.Now()
		k.cfg.Log.Error("connection to the database lost; the daemon does nothing until it is back", "host", k.d.Host)
		k.lock.Release()
		lock, err := k.take(ctx, func() {}, func(error) bool { return true })
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		k.lock = lock
		k.cfg.Log.Info("database is back; going on", "host", k.d.Host, "away", time.Since(lost).Round(time.Millisecond).String())
		if b := lock.Before(); b != nil && b.Instance != k.me.Instance {
			err = k.d.RanElsewhere(ctx, b.Machine, b.DataRoot)
		}
		if err = errors.Join(err, k.d.Recovered(ctx)); err != nil && ctx.Err() == nil {
			k.cfg.Log.Warn("recovery is not complete yet; the sweep goes on with it", "error", err)
		}
	}
}

// work runs the daemon until the lock is lost or ctx ends.
func (k *keeper) work(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lost := k.lock.Lost()
	go func() {
		select {
		case <-lost:
		case <-ctx.Done():
		}
		stop()
	}()
	_ = k.d.Run(ctx) // Run returns only the context's error
}

// take reconnects the database and takes the host's lock. It tries until ctx ends. It gives up earlier if another living
// daemon holds the lock, or if patient returns false for an error. Before each wait it calls waits.
func (k *keeper) take(ctx context.Context, waits func(), patient func(error) bool) (*db.HostLock, error) {
	pause := func(err error) {
		k.d.Interrupt(ctx, err)
		waits()
	}
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := k.base.ensure(ctx, k.d.Host)
		if err == nil {
			var lock *db.HostLock
			lock, err = k.base.db.LockHost(ctx, k.d.Host, k.me, func(held string) {
				k.cfg.Log.Warn("a silent session holds the host; waiting for its end", "held", held)
				pause(daemon.HostWaiting(held))
			})
			if err == nil {
				return lock, nil
			}
		}
		if errors.Is(err, db.ErrHostTaken) || !patient(err) {
			return nil, err
		}
		pause(err)
		k.cfg.Log.Warn("database not back yet; trying again", "error", err, "wait", wait.String())
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// heartbeat writes into the database every five seconds that this daemon is alive.
func heartbeat(ctx context.Context, store *db.DB, up *Serving, log *slog.Logger) error {
	name, _ := os.Hostname() // only people read the name
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		if err := store.Heartbeat(ctx, db.Host{ID: up.Host, Name: name, Version: build.Version(), DataRoot: up.Data.Root()}); err != nil && ctx.Err() == nil {
			log.Debug("heartbeat not written", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
