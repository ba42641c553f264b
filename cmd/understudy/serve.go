package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/db"
	"github.com/understudyd/understudy/db/localpg"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// serveConfig is what a daemon process is made of. This file is the only one that knows all
// packages: it puts them together, and takes them apart in reverse.
type serveConfig struct {
	Root        string // the data directory
	Settings    settings
	Host        string // overrides the host id of the data directory
	AllowPublic bool   // listen beyond loopback
	Environ     []string
	Getenv      func(string) string
	Binary      string // this program, for notifications
	HookBinary  string // understudy-hook, which agents are launched with and their hooks run; empty: Binary
	NoSync      bool   // private PostgreSQL without fsync: a power failure may take what was committed
	Temporary   bool   // private PostgreSQL that ends with this process, however that ends
	Log         *slog.Logger
	Ready       func(*serving) // called once, when requests are answered; may be nil

	// Around stands between the daemon and the world; tests put a crash there. May be nil.
	Around func(daemon.Config) daemon.Config
}

// serving is a daemon process that answers requests.
type serving struct {
	Data    data.Dir
	Host    string
	Address net.Addr // of the TCP listener; nil: none
	// Dashboard makes a link that opens the dashboard once; without an address it fails.
	Dashboard func() (api.DashboardLink, error)
	Daemon    *daemon.Daemon
}

// closers take apart what was put together, the newest first.
type closers []func()

func (c *closers) add(f func()) { *c = append(*c, f) }
func (c closers) close() {
	for i := len(c) - 1; i >= 0; i-- {
		c[i]()
	}
}

// serve runs a daemon until ctx ends. Agents go on when it returns.
func serve(ctx context.Context, cfg serveConfig) error {
	var done closers
	defer func() { done.close() }()

	dir, err := data.Open(cfg.Root)
	if err != nil {
		return err
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	done.add(unlock)
	if added, err := dir.Seed(); err != nil {
		return err
	} else if len(added) > 0 {
		cfg.Log.Info("personas added", "slugs", added)
	}
	hook := hookProgramIn(dir, cfg)
	token, err := dir.TokenValue()
	if err != nil {
		return err
	}
	host := cfg.Host
	if host == "" {
		if host, err = dir.HostID(); err != nil {
			return err
		}
	}
	if _, err := tmux.Check(ctx, ""); err != nil {
		return err
	}
	tcp, err := listenTCP(ctx, cfg) // before the database, which takes longer to refuse
	if err != nil {
		return err
	}
	if tcp != nil {
		done.add(func() { tcp.Close() }) // again, when it was served
	}
	base, err := openDatabase(ctx, cfg, dir, &done)
	if err != nil {
		return err
	}
	store, templates, err := openPersonas(dir)
	if err != nil {
		return err
	}
	runtimes := newProbe(cfg.Environ)
	for name, r := range cfg.Settings.Runtimes {
		if err := runtimes.lookup(r.Command); err != nil {
			cfg.Log.Warn("agents of a runtime cannot be started", "runtime", name, "error", err)
		}
	}
	conf := daemon.Config{
		Host: host, Settings: cfg.Settings.domain(), Store: base.db, Data: dir, Personas: store, Templates: templates,
		Terminal: terminals(cfg.Settings), Notifier: newDesktop(cfg.Settings.Notify.Desktop, cfg.Getenv, cfg.Binary),
		Log: cfg.Log, Environ: cfg.Environ, Binary: hook, Version: runtimes.version, Lookup: runtimes.lookup,
		OneShot: runOneShot, Worktree: askGit(cfg.Environ), Trees: newTrees(cfg.Environ),
	}
	if cfg.Around != nil {
		conf = cfg.Around(conf)
	}
	d := daemon.New(conf)
	templates.Log, templates.OnProblem = cfg.Log, d.TemplateProblem
	lock, err := base.db.LockHost(ctx, host)
	if err != nil {
		return err
	}
	if err := d.Prepare(ctx); err != nil {
		lock.Release()
		return err
	}
	ls, err := listen(dir, tcp)
	if err != nil {
		lock.Release()
		return err
	}
	return runDaemon(ctx, cfg, base, d, lock, ls, &serving{Data: dir, Host: host, Address: addrOf(ls.TCP), Daemon: d}, token)
}

// openPersonas reads the personas and the templates of runs.
func openPersonas(dir data.Dir) (*personas.Store, *personas.Templates, error) {
	store, err := personas.Open(dir.Personas())
	if err != nil {
		return nil, nil, err
	}
	templates, err := personas.OpenTemplates(dir.Pipelines())
	return store, templates, err
}

// runDaemon runs all services until ctx ends or one of them can't go on.
func runDaemon(ctx context.Context, cfg serveConfig, base *database, d *daemon.Daemon,
	lock *db.HostLock, ls api.Listeners, up *serving, token string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	service := func(name string, run func(context.Context) error) {
		wg.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				stop(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	server := api.New(api.Config{Daemon: d, Personas: d.Personas, Templates: d.Templates, Token: token, Log: cfg.Log, Version: version(),
		Address: up.Address, Database: base.stats, Logins: up.Data.Logins(), LinkUsed: func(key string) { dropLinkPage(up.Data, key) }})
	up.Dashboard = server.DashboardLink
	dropLinkPage(up.Data, "") // of a daemon before this one: its links have ended with it
	service("api", func(ctx context.Context) error { return server.Serve(ctx, ls) })
	service("personas", d.Personas.Run)
	service("templates", d.Templates.Run)
	service("database notifications", func(ctx context.Context) error {
		return base.db.Listen(ctx, up.Host, db.Listener{Wake: d.Wake, Events: d.EventsChanged})
	})
	service("heartbeat", func(ctx context.Context) error { return heartbeat(ctx, base.db, up, cfg.Log) })
	service("daemon", func(ctx context.Context) error { return holdHost(ctx, cfg, base, d, up.Host, lock) })
	cfg.Log.Info("understudy serves", "data", up.Data.Root(), "host", up.Host, "socket", up.Data.Socket(), "address", fmt.Sprint(up.Address))
	if cfg.Ready != nil {
		cfg.Ready(up)
	}
	<-ctx.Done()
	d.Close()
	wg.Wait()
	cfg.Log.Info("understudy stopped; agents go on")
	var cause error
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		cause = c
	}
	return cause
}

// holdHost runs the daemon's work while this process holds the host's lock. Without the lock no
// effect may happen, because another daemon could have it: when the connection that holds it is
// lost, work ends, the database is brought back, and work begins again from the rows.
func holdHost(ctx context.Context, cfg serveConfig, base *database, d *daemon.Daemon, host string, lock *db.HostLock) error {
	for {
		runCtx, cancel := context.WithCancel(ctx)
		go func(lock *db.HostLock) {
			select {
			case <-lock.Lost():
			case <-runCtx.Done():
			}
			cancel()
		}(lock)
		_ = d.Run(runCtx) // always the context's end
		cancel()
		if ctx.Err() != nil {
			lock.Release()
			return nil
		}
		lost := time.Now()
		cfg.Log.Error("connection to the database lost; nothing is done until it is back", "host", host)
		var err error
		if lock, err = regain(ctx, cfg, base, host); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		cfg.Log.Info("database is back; going on", "host", host, "away", time.Since(lost).Round(time.Millisecond).String())
		if err := d.Recovered(ctx, lost); err != nil && ctx.Err() == nil {
			cfg.Log.Warn("recovery not fully taken up yet; the sweep will", "error", err)
		}
	}
}

// regain brings the database back and takes the host's lock again. Only another daemon that has
// the lock by now ends the attempts.
func regain(ctx context.Context, cfg serveConfig, base *database, host string) (*db.HostLock, error) {
	wait := 20 * time.Millisecond
	taken := 0
	for {
		err := base.ensure(ctx)
		if err == nil {
			var lock *db.HostLock
			if lock, err = base.db.LockHost(ctx, host); err == nil {
				return lock, nil
			}
		}
		if errors.Is(err, db.ErrHostTaken) {
			if taken++; taken > 20 {
				return nil, err
			}
		}
		cfg.Log.Warn("database not back yet; trying again", "error", err, "wait", wait.String())
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
		wait = min(2*wait, 2*time.Second)
	}
}

// database is the one the daemon uses: a shared one by URL, or a private cluster.
type database struct {
	db      *db.DB
	cluster *localpg.Cluster // nil: shared
}

// ensure starts the private cluster again if it is gone.
func (b *database) ensure(ctx context.Context) error {
	if b.cluster != nil {
		if err := b.cluster.Ensure(ctx); err != nil {
			return err
		}
	}
	return b.db.Ping(ctx)
}

func openDatabase(ctx context.Context, cfg serveConfig, dir data.Dir, done *closers) (*database, error) {
	b := &database{}
	conf := db.Config{ConnString: cfg.Settings.DatabaseURL, Log: cfg.Log}
	if conf.ConnString == "" {
		cluster, err := localpg.Start(ctx, localpg.Config{Dir: dir.Postgres(), Log: cfg.Log, NoSync: cfg.NoSync, Temporary: cfg.Temporary})
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
	if err := conf.Migrate(ctx); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	var err error
	if b.db, err = db.Open(ctx, conf); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	done.add(b.db.Close)
	return b, nil
}

// lockDir makes sure that one daemon works in a data directory. The lock ends with the process.
func lockDir(dir data.Dir) (unlock func(), err error) {
	f, err := os.OpenFile(dir.Lock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		pid, _ := io.ReadAll(io.LimitReader(f, 20))
		f.Close()
		return nil, fmt.Errorf("another daemon (process %s) already serves %s: stop it first, or use another --data", pid, dir.Root())
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "%d", os.Getpid()) // only for the sentence above
	}
	return func() { f.Close() }, nil
}

// flock takes the lock within a second. A daemon that was killed while it started a command leaves
// the lock for as long as that takes to get from fork to exec.
func flock(f *os.File) (err error) {
	for range 50 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// listenTCP opens the address of the settings; nil: none is wanted.
func listenTCP(ctx context.Context, cfg serveConfig) (net.Listener, error) {
	if cfg.Settings.Listen == "" || cfg.Settings.Listen == "none" {
		return nil, nil
	}
	return api.ListenTCP(ctx, cfg.Settings.Listen, cfg.AllowPublic)
}

// listen opens the unix sockets. They appear when everything behind them is ready.
func listen(dir data.Dir, tcp net.Listener) (ls api.Listeners, err error) {
	ls.TCP = tcp
	if ls.Main, err = api.ListenUnix(dir.Socket()); err != nil {
		return ls, err
	}
	if ls.Hook, err = api.ListenUnix(dir.HookSocket()); err != nil {
		ls.Main.Close()
		return ls, err
	}
	return ls, nil
}

func addrOf(l net.Listener) net.Addr {
	if l == nil {
		return nil
	}
	return l.Addr()
}

// terminals returns the tmux server at each socket, one driver each.
func terminals(settings) func(socket string) (daemon.Terminal, error) {
	var mu sync.Mutex
	known := map[string]*tmux.Server{}
	return func(socket string) (daemon.Terminal, error) {
		mu.Lock()
		defer mu.Unlock()
		if s := known[socket]; s != nil {
			return s, nil
		}
		s, err := tmux.New(tmux.Config{Socket: filepath.Clean(socket)})
		if err != nil {
			return nil, err
		}
		known[socket] = s
		return s, nil
	}
}

func heartbeat(ctx context.Context, store *db.DB, up *serving, log *slog.Logger) error {
	name, _ := os.Hostname() // shown only
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		if err := store.Heartbeat(ctx, db.Host{ID: up.Host, Name: name, Version: version(), DataRoot: up.Data.Root()}); err != nil && ctx.Err() == nil {
			log.Debug("heartbeat not written", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
