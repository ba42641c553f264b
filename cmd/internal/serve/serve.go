// Package serve is the process of a daemon: its settings, and the one place that starts all packages and stops them in
// reverse order. The daemon works only while this process holds the host's lock. If the lock is lost, the daemon stops
// its work until this process has taken the lock again.
//
// Each service of the process is a goroutine, and [Run] waits for it. If the process is killed, its agents and its
// private PostgreSQL still run, and the lock of its directory is free. The next daemon adopts that PostgreSQL.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/cmd/internal/desktop"
	"github.com/understudyd/understudy/cmd/internal/git"
	"github.com/understudyd/understudy/cmd/internal/opencode"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/db"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// Config configures a daemon process.
type Config struct {
	Root        string // the data directory
	Settings    Settings
	Reread      func() (Settings, error) // reads the settings again, as the person has named them; nil: they can't change
	Host        string                   // overrides the host id of the data directory
	AllowPublic bool                     // the address may be beyond loopback
	Environ     []string
	Getenv      func(string) string
	Binary      string // the path of this program, which shows notifications
	HookBinary  string // understudy-hook, which launches agents and runs their hooks; if empty, Binary does
	NoSync      bool   // the private PostgreSQL does not sync: a power failure may lose what was committed
	Log         *slog.Logger
	Ready       func(*Serving) // is called once, as soon as the daemon answers requests; may be nil

	// Around wraps the configuration of the daemon. Tests use it to make the daemon crash, and the demo to have one program
	// play several CLIs. It may be nil.
	Around func(engine.Config) engine.Config
}

// Serving is a daemon process that answers requests.
type Serving struct {
	Data    data.Dir
	Host    string
	Address net.Addr // of the TCP listener; nil if there is none
	// Dashboard makes a link that opens the dashboard once. It fails without an address.
	Dashboard func() (api.DashboardLink, error)
	Daemon    *intake.Daemon
}

// closers are functions that undo the set-up. close calls the newest first.
type closers []func()

func (c *closers) add(f func()) { *c = append(*c, f) }
func (c closers) close() {
	for i := len(c) - 1; i >= 0; i-- {
		c[i]()
	}
}

// Run runs a daemon until ctx ends. The agents keep running after Run has returned.
func Run(ctx context.Context, cfg Config) error {
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
	tcp, err := listenTCP(ctx, cfg) // open this before the database, because the database takes longer to fail
	if err != nil {
		return err
	}
	if tcp != nil {
		done.add(func() { tcp.Close() }) // closes it a second time if the server has closed it
	}
	base, err := openDatabase(ctx, cfg, dir, &done)
	if err != nil {
		return err
	}
	conf, err := cfg.DaemonConfig(dir, host)
	if err != nil {
		return err
	}
	clis := proc.NewProbe(cfg.Environ)
	cfg.warnOfRemoved(cfg.Settings.Removed)
	for name, r := range cfg.Settings.Runtimes {
		if err := clis.Lookup(r.Command); err != nil && wanted(name, r) {
			cfg.Log.Warn("agents of a runtime cannot be started", "runtime", name, "error", err)
		}
	}
	var d *intake.Daemon // no terminal starts before it is there
	conf.Store, conf.Servers = base.db, base.servers
	conf.Terminal = terminals(dir, cfg.Settings.Tmux.Include, func(err error) { engine.TellMistake(d.Engine, err) })
	conf.Program = cfg.Binary
	conf.Binary, conf.Version, conf.Lookup, conf.OneShot = hook, clis.Version, clis.Lookup, proc.OneShot
	if conf.PublicURL = cfg.Settings.PublicURL; conf.PublicURL == "" && tcp != nil {
		conf.PublicURL = api.LocalURL(tcp.Addr())
	}
	conf.Control = opencode.New // OpenCode is the only runtime with a server
	rooms := cfg.NewHouse(conf)
	d = rooms.Daemon
	up := &Serving{Data: dir, Host: host, Address: addrOf(tcp), Daemon: d}
	server := api.New(api.Config{House: rooms, Personas: d.Personas, Templates: d.Templates, Token: token, Log: cfg.Log, Version: build.Version(),
		Address: up.Address, Hosts: append(api.LoopbackNames(), cfg.Settings.names()...), PublicURL: cfg.Settings.PublicURL,
		Database: base.stats, Logins: dir.Logins(), LinkUsed: func(key string) { dropLinkPage(dir, key) }})
	up.Dashboard = func() (api.DashboardLink, error) { return server.DashboardLink(api.LinkFor{}) }
	return beginServing(ctx, cfg, base, server, api.Listeners{TCP: tcp}, up)
}

// wanted reports whether the operator expects agents of a runtime: those of Claude Code, and those that they configured.
func wanted(name string, r RuntimeSettings) bool {
	rt, err := catalog.For(name)
	return err != nil || rt == claude.Runtime || !slices.Equal(rt.Command, r.Command)
}

// beginServing takes the host's lock, resumes the work of earlier daemons, and runs the daemon.
func beginServing(ctx context.Context, cfg Config, base *database, server *api.Server, ls api.Listeners, up *Serving) (err error) {
	d, dir := up.Daemon, up.Data
	if ls.Main, err = api.ListenUnix(dir.Socket()); err != nil {
		return err
	}
	defer ls.Main.Close() // closes it a second time if the server has closed it
	keeper, err := newKeeper(cfg, base, d, dir)
	if err != nil {
		return err
	}
	defer keeper.release()
	if err := keeper.begin(ctx, server, ls); err != nil {
		return err
	}
	if err := d.Prepare(ctx); err != nil {
		return err
	}
	if err := d.Recovered(ctx); err != nil {
		return err
	}
	// Listen for hooks only now: the spool of older hooks has been replayed, so each new hook is applied after all older
	// ones.
	if ls.Hook, err = api.ListenUnix(dir.HookSocket()); err != nil {
		return err
	}
	if err := intoRoom(dir); err != nil {
		return err
	}
	return runDaemon(ctx, cfg, keeper, server, ls, up)
}

// intoRoom gives the hook socket its name in the folder that agents in a sandbox see. A folder can be seen there for as long as an agent
// lives; a socket could not, because each daemon makes a new one.
func intoRoom(dir data.Dir) error {
	path := filepath.Join(dir.AgentRoom(), filepath.Base(dir.HookSocket()))
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Link(dir.HookSocket(), path)
}

// DaemonConfig returns the configuration of a daemon. The caller adds the database, the terminals, and how to run other
// programs.
func (cfg Config) DaemonConfig(dir data.Dir, host string) (engine.Config, error) {
	people, err := personas.Open(dir.Personas())
	if err != nil {
		return engine.Config{}, err
	}
	routes, err := cfg.Settings.Notify.routes(dir.Root(), cfg.Environ)
	if err != nil {
		return engine.Config{}, err
	}
	show := desktop.New(cfg.Settings.Notify.Desktop, cfg.Getenv, cfg.Binary)
	templates, err := personas.OpenTemplates(dir.Pipelines())
	return engine.Config{
		Host: host, Settings: cfg.Settings.domain(), Reread: cfg.reread(show), Data: dir, Personas: people, Templates: templates,
		Notifier: show, Targets: routes, Log: cfg.Log, Environ: cfg.Environ, Worktree: git.Ask(cfg.Environ), Differ: git.NewDiffer(cfg.Environ), Keeper: git.NewKeeper(cfg.Environ),
	}, err
}

// NewHouse makes the daemon with its rooms from a configuration.
func (cfg Config) NewHouse(conf engine.Config) *house.House {
	if cfg.Around != nil {
		conf = cfg.Around(conf)
	}
	h := house.New(conf)
	d := h.Daemon
	d.Templates.Log, d.Templates.OnProblem = cfg.Log, h.Pipelines.TemplateProblem
	return h
}

// runDaemon runs all services until ctx ends or one of them fails.
func runDaemon(ctx context.Context, cfg Config, keeper *keeper, server *api.Server, ls api.Listeners, up *Serving) error {
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
	d, store := up.Daemon, keeper.base.db
	dropLinkPage(up.Data, "") // the links of an earlier daemon have ended with that daemon
	service("api", func(ctx context.Context) error { return server.Serve(ctx, ls) })
	service("personas", d.Personas.Run)
	service("templates", d.Templates.Run)
	service("database notifications", func(ctx context.Context) error {
		return store.Listen(ctx, up.Host, db.Listener{Wake: d.Wake, Events: d.EventsChanged})
	})
	service("heartbeat", func(ctx context.Context) error { return heartbeat(ctx, store, up, cfg.Log) })
	service("daemon", keeper.run)
	address := "none"
	if up.Address != nil {
		address = up.Address.String()
	}
	cfg.Log.Info("understudy serves", "data", up.Data.Root(), "host", up.Host, "socket", up.Data.Socket(), "address", address)
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

// listenTCP opens the address that the settings name. It returns nil if the settings name no address.
func listenTCP(ctx context.Context, cfg Config) (net.Listener, error) {
	if cfg.Settings.Listen == "" || cfg.Settings.Listen == "none" {
		return nil, nil
	}
	return api.ListenTCP(ctx, cfg.Settings.Listen, cfg.AllowPublic)
}

func addrOf(l net.Listener) net.Addr {
	if l == nil {
		return nil
	}
	return l.Addr()
}

// hookProgramIn returns the program that launches the agents of this data directory and runs their hooks.
func hookProgramIn(dir data.Dir, cfg Config) string {
	if cfg.HookBinary == "" {
		return cfg.Binary
	}
	kept, err := proc.KeepHookProgram(dir, cfg.HookBinary)
	if err != nil {
		cfg.Log.Warn("agents lose hooks while the hook program is replaced: it could not be copied into the data directory", "program", cfg.HookBinary, "error", err)
		return cfg.HookBinary
	}
	return kept
}
