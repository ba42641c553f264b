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
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/personas"
)

// Config configures a server.
type Config struct {
	*house.House
	Personas  *personas.Store
	Templates *personas.Templates
	Token     string   // the token that TCP clients must send; if it is empty, the server refuses all TCP clients
	Hosts     []string // names and addresses by which TCP clients may call us; empty: those of loopback
	PublicURL string   // at which browsers elsewhere find the dashboard; "": none is known
	Log       *slog.Logger
	Version   string
	Address   net.Addr // address of the TCP listener, where browsers find the dashboard; nil if there is none
	// Database returns the figures of the pool of database connections, and an error if the database does not answer. It
	// returns the figures even then. If Database is nil, the metrics have neither.
	Database func(ctx context.Context) (DatabaseStats, error)
	// Logins is the path of the file with the browsers that are signed in to the dashboard. If it is empty, the browsers
	// are signed out when the server ends.
	Logins string
	// LinkUsed, if it is not nil, is called with the key of each link to the dashboard that a browser opens.
	LinkUsed func(key string)
}

// Listeners are the three listeners of a server.
type Listeners struct {
	Main net.Listener // the unix socket for everything
	Hook net.Listener // the unix socket for agents
	TCP  net.Listener // for everything, with the token; may be nil
}

const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second // for a whole request
	idleTimeout       = 2 * time.Minute  // between two requests of a connection
	shutdownTimeout   = 5 * time.Second  // how long open requests may continue when the daemon stops
	maxHeader         = 32 << 10         // bytes
)

// Server answers the API. Make it with [New].
type Server struct {
	Config
	streams     context.Context // ends when the server shuts down, and ends the streams of the feed
	stopStreams context.CancelFunc
	subscribers atomic.Int64  // how many readers the feed has
	sent        atomic.Int64  // how many events were sent to readers
	dropped     atomic.Int64  // how many readers were dropped because they fell behind
	replays     chan struct{} // has an element for each reader that queries the database
	site
	floods *floods

	// Only tests change these.
	heartbeat    time.Duration // between two heartbeats of the feed
	writeTimeout time.Duration // for a write to a reader of the feed
	readTimeout  time.Duration
	// scrapeTimeout is how long a request for metrics waits for the database.
	scrapeTimeout time.Duration
}

// LoopbackNames returns the names by which programs of this machine call the daemon.
func LoopbackNames() []string { return []string{"localhost", "127.0.0.1", "::1"} }

// New makes a server, which serves nothing before [Server.Serve] is called.
func New(cfg Config) *Server {
	if len(cfg.Hosts) == 0 {
		cfg.Hosts = LoopbackNames()
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

		scrapeTimeout: 2 * time.Second,
	}
	s.gate = gate{Config: &s.Config, nonce: rand.Text()}
	var err error
	if s.logins, err = openLogins(cfg.Logins, time.Now()); err != nil {
		cfg.Log.Error("browsers must sign in again: run understudy dashboard", "error", err)
	}
	s.pages = &dashboard.Pages{House: cfg.House, Personas: cfg.Personas, Templates: cfg.Templates, Version: cfg.Version}
	s.static = dashboard.Files()
	s.streams, s.stopStreams = context.WithCancel(context.Background())
	s.meter = newMeter(s)
	s.floods = newFloods(s)
	return s
}

// Handlers returns the handlers of the two unix sockets.
func (s *Server) Handlers() (everything, hooks http.Handler) {
	return s.router(s.routes(), s.notInside()), s.router(s.hookRoutes())
}

// Serve answers on the listeners until ctx ends or a listener fails, and closes the listeners. Before it returns, it ends
// all streams and waits up to shutdownTimeout for open requests; after that it cuts them off. If ctx has ended, it returns
// nil. Serve may be called one time only.
func (s *Server) Serve(ctx context.Context, ls Listeners) error {
	everything, hooks := s.Handlers()
	servers := map[net.Listener]*http.Server{
		ls.Main: s.httpServer(everything, false),
		ls.Hook: s.httpServer(hooks, true),
	}
	if ls.TCP != nil {
		servers[ls.TCP] = s.httpServer(s.guardTCP(s.floods.admitting(everything)), false)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var serving sync.WaitGroup
	s.meter.last = s.Daemon.LogStart()
	serving.Go(func() { s.meter.follow(ctx, s.Daemon, s.Daemon.Host) })
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

// listenerError is the error of a listener that failed by itself.
type listenerError struct {
	addr net.Addr
	err  error
}

func (e *listenerError) Error() string { return fmt.Sprintf("listener %s: %v", e.addr, e.err) }
func (e *listenerError) Unwrap() error { return e.err }

func (s *Server) httpServer(h http.Handler, hooks bool) *http.Server {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       s.readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// Set no WriteTimeout, because it would cut the feed. The feed has a deadline for each write instead.
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	s.floods.limit(server, hooks)
	server.RegisterOnShutdown(s.stopStreams) // Shutdown waits for streams but does not end them
	return server
}

func (s *Server) shutdown(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		s.Log.Warn("requests cut off", "error", err)
		_ = server.Close() // ignore the error: the remaining requests are cut even then
	}
}
