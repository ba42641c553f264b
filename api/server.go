package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudyd/understudy/api/dashboard"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/personas"
)

// Config is what a server is made of.
type Config struct {
	Daemon    *daemon.Daemon
	Personas  *personas.Store
	Templates *personas.Templates
	Token     string   // what TCP clients must present; empty: nobody can
	Hosts     []string // names and addresses by which TCP clients may call us; empty: those of loopback
	Log       *slog.Logger
	Version   string
	Address   net.Addr // of the TCP listener, where browsers find the dashboard; nil: there is none
	// Database reports whether the database answers, and in any case the figures of its pool of
	// connections. Nil: metrics have neither.
	Database func(ctx context.Context) (DatabaseStats, error)
	// Logins is the file that keeps which browsers are signed in to the dashboard; empty: they are signed out
	// when the server ends.
	Logins string
	// LinkUsed is told the key of a link to the dashboard that was opened; may be nil.
	LinkUsed func(key string)
}

// Listeners are the three ways in.
type Listeners struct {
	Main net.Listener // the unix socket for everything
	Hook net.Listener // the unix socket that agents are given
	TCP  net.Listener // everything, with the token; may be nil
}

const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second // of a whole request
	idleTimeout       = 2 * time.Minute  // between two requests of a connection
	shutdownTimeout   = 5 * time.Second  // for requests that are being answered when the daemon stops
	maxHeader         = 32 << 10         // bytes
)

// Server answers the API. Make it with [New].
type Server struct {
	Config
	streams     context.Context // ends when the server shuts down, and the feed's streams with it
	stopStreams context.CancelFunc
	subscribers atomic.Int64  // readers of the feed
	sent        atomic.Int64  // events, to any of them
	dropped     atomic.Int64  // readers that fell behind
	replays     chan struct{} // has one for each of them that asks the database
	meter       *meter
	links       links   // to the dashboard
	logins      *logins // browsers that are signed in to it
	nonce       string  // of this run, in what pages prove
	pages       *dashboard.Pages
	static      map[string]dashboard.File

	// Varied in tests only.
	heartbeat    time.Duration // between two signs of life of the feed
	writeTimeout time.Duration // for one event to one reader
	readTimeout  time.Duration
	// scrapeTimeout is how long the database may keep those waiting who ask for metrics.
	scrapeTimeout time.Duration
}

// New makes a server; nothing is served before Serve.
func New(cfg Config) *Server {
	if len(cfg.Hosts) == 0 {
		cfg.Hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	s := &Server{
		Config:       cfg,
		heartbeat:    15 * time.Second,
		writeTimeout: 5 * time.Second,
		readTimeout:  readTimeout,
		replays:      make(chan struct{}, replaysAtOnce),
		nonce:        rand.Text(),

		scrapeTimeout: 2 * time.Second,
	}
	var err error
	if s.logins, err = openLogins(cfg.Logins, time.Now()); err != nil {
		cfg.Log.Error("browsers must sign in again: run understudy dashboard", "error", err)
	}
	s.pages = &dashboard.Pages{Daemon: cfg.Daemon, Personas: cfg.Personas, Templates: cfg.Templates, Version: cfg.Version}
	s.static = dashboard.Files()
	s.streams, s.stopStreams = context.WithCancel(context.Background())
	s.meter = newMeter(s)
	return s
}

// Handlers are what Serve answers with on the two unix sockets.
func (s *Server) Handlers() (everything, hooks http.Handler) {
	return s.router(s.routes()), s.router(s.hookRoutes())
}

// Serve answers on the listeners, which it closes, until ctx ends or one of them fails. When it
// returns, requests have been answered (or cut off after five seconds) and streams have ended.
// It returns nil when ctx has ended. A server serves once.
func (s *Server) Serve(ctx context.Context, ls Listeners) error {
	everything, hooks := s.Handlers()
	servers := map[net.Listener]*http.Server{
		ls.Main: s.httpServer(everything),
		ls.Hook: s.httpServer(hooks),
	}
	if ls.TCP != nil {
		servers[ls.TCP] = s.httpServer(s.guardTCP(everything))
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var serving sync.WaitGroup
	if s.Daemon != nil {
		s.meter.last = s.Daemon.LogStart()
		serving.Go(func() { s.meter.follow(ctx, s.Daemon, s.Daemon.Host) })
	}
	for l, server := range servers {
		serving.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				stop(&listenerError{l.Addr(), err})
			}
		})
	}
	<-ctx.Done()
	var closing sync.WaitGroup
	for _, server := range servers {
		closing.Go(func() { s.shutdown(server) })
	}
	closing.Wait()
	serving.Wait()
	var failed *listenerError
	if errors.As(context.Cause(ctx), &failed) {
		return failed
	}
	return nil
}

// listenerError says that a listener failed by itself.
type listenerError struct {
	addr net.Addr
	err  error
}

func (e *listenerError) Error() string { return fmt.Sprintf("listener %s: %v", e.addr, e.err) }
func (e *listenerError) Unwrap() error { return e.err }

func (s *Server) httpServer(h http.Handler) *http.Server {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       s.readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// No WriteTimeout: it would cut the feed, which has a deadline on each write instead.
		ErrorLog:    slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
		ConnContext: withPeer,
	}
	server.RegisterOnShutdown(s.stopStreams) // Shutdown waits for streams but does not end them
	return server
}

func (s *Server) shutdown(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		s.Log.Warn("requests cut off", "error", err)
		_ = server.Close() // what is left is cut either way
	}
}
