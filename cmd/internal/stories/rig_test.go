package stories

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/demo"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/sim/memory"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/db"
	"github.com/understudyd/understudy/db/dbtest"
	"github.com/understudyd/understudy/tmux"
)

// rig is a whole understudy: a daemon with a data directory, a database, a tmux server of its own, and scripted
// agents. A file tells the agents how to misbehave. newRig makes one.
type rig struct {
	t      testing.TB
	root   string
	cfg    serve.Config
	client *api.Client
	behave string // the file that the scripted agents read at each turn
	work   string // where agents work
	dir    data.Dir
	tmux   *tmux.Server

	holds atomic.Int64 // files for @hold

	commits *bell // rings at the commits of daemons in this process

	mu   sync.Mutex
	stop context.CancelFunc
	done chan error
	db   *db.DB // for what the API does not show; opened when it is first asked
}

// newRig makes a rig of real processes. It does not start the daemon.
func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigIn(t, "")
}

// newRigIn is newRig with the daemon's data in a folder of the test's own; "": in the system's temporary folder.
func newRigIn(t testing.TB, in string) *rig {
	t.Helper()
	r := bareRig(t, "") // short: socket paths are limited to 107 bytes
	if in != "" {
		r.root = filepath.Join(in, "data") // short, too: with long paths an instruction becomes a file
		r.cfg.Root = r.root
		r.dir = value(data.Open(r.root))(t)
	}
	r.cfg.Settings.DatabaseURL = dbtest.New(t, db.Migrate)
	if _, measures := t.(*testing.B); !measures {
		// A daemon rarely needs more connections at once. Each one costs the CPU time of hundreds of queries.
		r.cfg.Settings.DatabaseURL = dbtest.With(r.cfg.Settings.DatabaseURL, "pool_max_conns", "2")
	}
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: []string{cmdtest.AgentProgram(t)}}}
	r.cfg.HookBinary = cmdtest.HookProgram(t)
	server := value(tmux.New(tmux.Config{Socket: r.dir.TmuxSocket()}))(t)
	r.tmux, r.client, r.commits = server, api.NewClient(r.dir.Socket()), newBell()
	t.Cleanup(func() {
		r.client.Close()
		r.halt()
		if err := demo.EndAgents(context.Background(), r.dir.TmuxSocket()); err != nil {
			t.Errorf("tmux server not ended: %v", err)
		}
	})
	return r
}

// serveHere is [serve.Run] in this process. It rings r.commits at each commit.
func (r *rig) serveHere(ctx context.Context, cfg serve.Config) error {
	around := cfg.Around
	cfg.Around = func(conf engine.Config) engine.Config {
		if around != nil {
			conf = around(conf)
		}
		conf.Store = &memory.Telling{Store: conf.Store, Committed: r.commits.ring}
		return conf
	}
	return serve.Run(ctx, cfg)
}

// bareRig makes the settings of a rig, and its folders inside the folder in. "" stands for the system's temporary
// folder.
func bareRig(t testing.TB, in string) *rig {
	t.Helper()
	root := value(os.MkdirTemp(in, "us"))(t)
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := os.Chmod(root, 0o711); err != nil { // The account of a private PostgreSQL must get through.
		t.Fatal(err)
	}
	r := &rig{t: t, root: filepath.Join(root, "data"), behave: filepath.Join(root, "behave"), work: filepath.Join(root, "work")}
	for _, dir := range []string{r.work, filepath.Join(root, "home")} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	r.misbehave("")
	s := serve.DefaultSettings()
	s.Listen = "none"
	s.Notify.Desktop = false
	var log slog.Handler = slog.DiscardHandler
	if v := flag.Lookup("test.v"); v.Value.String() == "true" { // not for go test -json, which is verbose too
		log = slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})
	}
	r.cfg = serve.Config{
		Root: r.root, Settings: s, Getenv: func(string) string { return "" }, Binary: os.Args[0], Log: slog.New(log),
		Environ: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "home"), "SCRIPTED_AGENT_FILE=" + r.behave,
			"GORACE=atexit_sleep_ms=0", // Otherwise each hook of a -race build takes a second to end.
			"GOMAXPROCS=1", "GOGC=off", // agents and hooks are many small processes that end soon
		},
	}
	r.dir = value(data.Open(r.root))(t)
	return r
}

// start runs the daemon in this process and waits until it answers.
func (r *rig) start() *rig {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan struct{})
	cfg := r.cfg
	cfg.Ready = func(*serve.Serving) { close(ready) }
	done := make(chan error, 1)
	go func() { done <- r.serveHere(ctx, cfg) }()
	r.mu.Lock()
	r.stop, r.done = cancel, done
	r.mu.Unlock()
	select {
	case <-ready:
	case err := <-done:
		r.stop = nil
		r.t.Fatalf("serve: %v", err)
	case <-time.After(cmdtest.Eventually):
		r.t.Fatal("serve: not ready")
	}
	return r
}

// halt stops the daemon if it runs. The agents go on.
func (r *rig) halt() {
	r.mu.Lock()
	stop, done := r.stop, r.done
	r.stop = nil
	r.mu.Unlock()
	if stop == nil {
		return
	}
	stop()
	select {
	case err := <-done:
		if err != nil {
			r.t.Errorf("serve: %v", err)
		}
	case <-time.After(cmdtest.Eventually):
		r.t.Error("serve: did not stop")
	}
}

// misbehave sets what the scripted agents do wrong from their next turn on.
func (r *rig) misbehave(list string) {
	r.t.Helper()
	must(r.t, data.WriteFile(r.behave, []byte(list), 0o600))
}

// startAgent starts an agent with the persona and waits until it is idle.
func (r *rig) startAgent(persona string) daemon.Agent {
	r.t.Helper()
	a := r.createAgent(agents.NewAgent{Persona: persona, Cwd: r.work})
	// The agent's first hook may arrive before the daemon commits its pane.
	return r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.HasPane() })
}

// createAgent asks the daemon for an agent and does not wait for it.
func (r *rig) createAgent(in agents.NewAgent) daemon.Agent {
	r.t.Helper()
	return value(r.client.CreateAgent(r.t.Context(), in))(r.t)
}

// stopAgent asks the daemon to end an agent and does not wait for the end.
func (r *rig) stopAgent(id int64, force bool) {
	r.t.Helper()
	value(r.client.StopAgent(r.t.Context(), id, force))(r.t)
}

// assignPersona gives an agent a persona.
func (r *rig) assignPersona(id int64, slug string) {
	r.t.Helper()
	value(r.client.AssignPersona(r.t.Context(), id, slug))(r.t)
}

// requestHandoff requests a handoff. It sets Force, because most stories begin before anybody has said a word to the
// agent.
func (r *rig) requestHandoff(agentID int64) int64 {
	r.t.Helper()
	return r.requestHandoffAs(agentID, handoffs.HandoffRequest{Force: true})
}

func (r *rig) requestHandoffAs(agentID int64, request handoffs.HandoffRequest) int64 {
	r.t.Helper()
	in := value(r.client.RequestHandoff(r.t.Context(), agentID, request))(r.t)
	return in.HandoffID
}

func (r *rig) awaitAgent(id int64, what string, ok func(daemon.Agent) bool) daemon.Agent {
	r.t.Helper()
	var a daemon.Agent
	r.await(fmt.Sprintf("agent %d: %s", id, what), func() (bool, string) {
		got, err := r.client.Agent(context.Background(), id)
		if err != nil {
			return false, err.Error()
		}
		a = got
		return ok(a), fmt.Sprintf("%+v", a)
	})
	return a
}

// awaitPhase waits until the handoff is in one of the phases. It fails if the handoff ends in any other phase.
func (r *rig) awaitPhase(id int64, phases ...daemon.Phase) daemon.Handoff {
	r.t.Helper()
	var h daemon.Handoff
	r.await(fmt.Sprintf("handoff %d: %v", id, phases), func() (bool, string) {
		got, err := r.client.Handoff(context.Background(), id)
		if err != nil {
			return false, err.Error()
		}
		h = got
		if !h.Open() && !slices.Contains(phases, h.Phase) {
			r.t.Fatalf("handoff %d: %s, want %v: %+v\n%s", id, h.Phase, phases, h.Error, r.report())
		}
		return slices.Contains(phases, h.Phase), fmt.Sprintf("%s %s %+v", h.Phase, h.Note, h.Error)
	})
	return h
}

// report is what a failing test shows: the event log and the screens.
func (r *rig) report() string {
	var b strings.Builder
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if events, err := r.events(ctx); err == nil {
		for _, e := range events {
			fmt.Fprintf(&b, "%s %d %s %s\n", e.At.Format("05.000"), e.ID, e.Type, e.Payload)
		}
	}
	panes, err := r.tmux.List(ctx)
	if err != nil {
		return b.String() + err.Error()
	}
	for _, p := range panes {
		shown, err := r.tmux.Capture(ctx, 0, false, p.Ref)
		if err == nil {
			fmt.Fprintf(&b, "--- pane %s (%s)\n%s\n", p.Pane, p.Session, strings.TrimSpace(shown[p.Pane]))
		}
	}
	return b.String()
}

// events reads the whole event log, past the API.
func (r *rig) events(ctx context.Context) ([]event.Event, error) {
	store, err := r.openDatabase(ctx)
	if err != nil {
		return nil, err
	}
	return store.Events(ctx, event.Filter{Limit: 5000})
}

// openDatabase opens the daemon's database at the first call.
func (r *rig) openDatabase(ctx context.Context) (daemon.Store, error) {
	return r.openDB(ctx)
}

// database is openDatabase; it fails the test on an error.
func (r *rig) database() daemon.Store {
	r.t.Helper()
	return value(r.openDatabase(r.t.Context()))(r.t)
}

func (r *rig) openDB(ctx context.Context) (*db.DB, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db == nil {
		store, err := db.Open(ctx, db.Config{ConnString: r.cfg.Settings.DatabaseURL, MaxConns: 1})
		if err != nil {
			return nil, err
		}
		r.db = store
		r.t.Cleanup(store.Close)
	}
	return r.db, nil
}

// allRows asks for the longest list that the API gives.
var allRows = api.ListOptions{Limit: 500}

// wantCode fails unless err is a daemon.Error with that code.
func wantCode(t testing.TB, err error, code daemon.Code) {
	t.Helper()
	var e *daemon.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("got error %v, want code %s", err, code)
	}
}
