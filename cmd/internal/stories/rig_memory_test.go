package stories

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/cmd/internal/opencode"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/daemon/sim/memory"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// A story in memory has the same daemon, API and scripted agents as one of real processes. Its database, tmux and
// processes are in memory. Its time is that of a bubble, in which waiting costs nothing.

// story runs a story in memory, in parallel with other stories. Its rig is not started yet. tell may not call t.Run:
// each subtest must be a story of its own.
func story(t *testing.T, tell func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	in := wardentest.InMemory()
	synctest.Test(t, func(t *testing.T) { tell(t, rigInMemory(t, in, newBase())) })
}

// rigInMemory makes a rig in a bubble. Its files lie in the folder in.
func rigInMemory(t *testing.T, in string, b *base) *rig {
	t.Helper()
	r := bareRig(t, in)
	r.cfg.HookBinary = "/bin/true" // This program exists, and nobody runs it.
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: []string{"claude"}}}
	m := newComputer(t, r.dir, b)
	r.memory, r.tmux, r.serve = m, m.term, m.serve
	r.client, r.commits = api.NewClientOver(m), b.bell
	t.Cleanup(func() {
		r.halt()
		m.killAll()
	})
	return r
}

// base is a database in memory that tells every daemon of each commit.
type base struct {
	*memory.Store

	*bell

	mu      sync.Mutex
	daemons []*intake.Daemon
}

func newBase() *base { return &base{Store: memory.New(), bell: newBell()} }

// setServing adds a daemon to those on the database, or removes it.
func (b *base) setServing(d *intake.Daemon, there bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var others []*intake.Daemon
	for _, other := range b.daemons {
		if other != d {
			others = append(others, other)
		}
	}
	if b.daemons = others; there {
		b.daemons = append(b.daemons, d)
	}
}

// tellOthers tells all other daemons of a commit, as PostgreSQL does by NOTIFY.
func (b *base) tellOthers(by *intake.Daemon) {
	b.ring()
	b.mu.Lock()
	daemons := b.daemons
	b.mu.Unlock()
	for _, d := range daemons {
		if d != by {
			engine.Sweep(d.Engine)
		}
		d.EventsChanged()
	}
}

// connect is a daemon's connection to the database, or the story's own if of is nil. Other daemons are told what it
// commits.
func (b *base) connect(of *intake.Daemon) *memory.Telling {
	return &memory.Telling{Store: b.Store, Committed: func() { b.tellOthers(of) }}
}

// servingHere is a daemon that answers requests, like serve.Serving.
type servingHere struct {
	d          *intake.Daemon
	everything http.Handler
	hooks      http.Handler
	ctx        context.Context // the context of requests
	requests   sync.WaitGroup
}

// serve is [serve.Run] in memory.
func (m *computer) serve(ctx context.Context, cfg serve.Config) error {
	dir, err := data.Open(cfg.Root)
	if err != nil {
		return err
	}
	if _, err := dir.Seed(); err != nil {
		return err
	}
	host := cfg.Host
	if host == "" {
		if host, err = dir.HostID(); err != nil {
			return err
		}
	}
	m.base.SetHost(host, dir.Root())
	conf, err := cfg.DaemonConfig(dir, host)
	if err != nil {
		return err
	}
	conf.Personas.Poll()
	conf.Templates.Poll()
	conn := m.base.connect(nil)
	conf.Store, conf.Terminal, conf.Processes = conn, m.openTerminal, processTable{m.table, m.term}
	conf.Binary, conf.Version, conf.OneShot = cfg.HookBinary, m.version, m.oneShot
	conf.Environment = func(int) ([]string, error) { return cfg.Environ, nil }
	conf.Control, conf.FreePort = opencode.Over(m.opencode), m.freePort
	rooms := cfg.NewHouse(conf)
	d := rooms.Daemon
	conn.Committed = func() { m.base.tellOthers(d) }
	if err := d.Prepare(ctx); err != nil {
		return err
	}
	if err := d.Recovered(ctx); err != nil {
		return err
	}
	up := &servingHere{d: d}
	var cutOff context.CancelFunc
	up.ctx, cutOff = context.WithCancel(context.Background())
	defer cutOff()
	server := api.New(api.Config{House: rooms, Personas: d.Personas, Templates: d.Templates, Log: cfg.Log, Version: build.Version()})
	up.everything, up.hooks = server.Handlers()

	var services sync.WaitGroup
	services.Go(func() { _ = d.Personas.Run(ctx) }) // They return only when ctx ends.
	services.Go(func() { _ = d.Templates.Run(ctx) })
	services.Go(func() { _ = d.Run(ctx) })
	m.base.setServing(d, true)
	m.listen(up)
	cfg.Ready(nil)
	<-ctx.Done()
	m.listen(nil)
	m.base.setServing(d, false)
	d.Close()
	patience := time.AfterFunc(shutdownGrace, cutOff)
	up.requests.Wait()
	patience.Stop()
	services.Wait()
	return nil
}

// shutdownGrace is how long a stopping daemon goes on with requests.
const shutdownGrace = 5 * time.Second

// listen directs requests to a daemon; nil directs them to nobody.
func (m *computer) listen(up *servingHere) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.up = up
}

// request has the listening daemon answer a request in a goroutine of its own, and waits for it until ctx ends. It
// returns false if no daemon listens.
func (m *computer) request(ctx context.Context, do func(ctx context.Context, up *servingHere)) (taken bool) {
	m.mu.Lock()
	up := m.up
	if up != nil {
		up.requests.Add(1)
	}
	m.mu.Unlock()
	if up == nil {
		return false
	}
	done := make(chan struct{})
	go func() {
		defer up.requests.Done()
		defer close(done)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(up.ctx, cancel)()
		do(ctx, up)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return true
}

// RoundTrip carries out a call of the API, as [http.RoundTripper] does.
func (m *computer) RoundTrip(req *http.Request) (*http.Response, error) {
	return m.call(req, func(up *servingHere) http.Handler { return up.everything })
}

func (m *computer) call(req *http.Request, of func(*servingHere) http.Handler) (*http.Response, error) {
	answer := make(chan *http.Response, 1)
	taken := m.request(req.Context(), func(ctx context.Context, up *servingHere) {
		in := req.Clone(ctx)
		if in.RequestURI = req.URL.RequestURI(); in.Body == nil {
			in.Body = http.NoBody
		}
		w := httptest.NewRecorder()
		of(up).ServeHTTP(w, in)
		answer <- w.Result()
	})
	switch {
	case !taken:
		return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case len(answer) == 0:
		return nil, context.Cause(req.Context())
	}
	return <-answer, nil
}
