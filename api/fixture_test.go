package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"

	"go.uber.org/goleak"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/daemon/sim/memory"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/db"
	"github.com/understudyd/understudy/db/dbtest"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

func TestMain(m *testing.M) {
	if os.Getenv("API_TEST_HOOK") != "" {
		os.Exit(hooks.Command(os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
	}
	if request := os.Getenv(askVariable); request != "" {
		askOnce(request)
		return
	}
	code := dbtest.Main(m)
	if code == 0 {
		for _, missing := range unmet() {
			fmt.Fprintln(os.Stderr, missing)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// fixture is a whole daemon with a database of its own and a tmux in memory. The server serves it on two unix sockets and
// on TCP.
type fixture struct {
	t      testing.TB
	store  daemon.Store
	daemon *intake.Daemon
	house  *house.House
	tmux   *tmuxtest.Fake
	server *Server
	log    *wardentest.Buffer
	spec   *spec

	main, hook string // paths of the sockets
	tcp        string // address of the TCP listener
	token      string
	client     *Client
	quit       func() error // ends the server and returns the error of Serve

	listen func(context.Context) // tells the daemon of commits; nil if the store does that
	away   func()                // ends the database
}

// phone is a target that takes tests only.
type phone struct{}

func (phone) Send(_ context.Context, m *tell.Message) error {
	if m.Level != "test" {
		return &tell.Unsent{Err: errors.New("127.0.0.1 answered 403 Forbidden"), Final: true}
	}
	return nil
}

// build starts a fixture with a database in memory. change, if it is not nil, may alter the server before it serves.
func build(t testing.TB, change func(*Server)) *fixture {
	t.Helper()
	return buildOn(t, change, inMemory)
}

// inMemory gives a fixture a database in memory.
func inMemory(h *fixture, dir data.Dir) {
	base := memory.New()
	base.SetHost("elsewhere", dir.Root())
	h.store = &memory.Telling{Store: base, Committed: func() {
		engine.Sweep(h.daemon.Engine)
		h.daemon.EventsChanged()
	}}
}

// buildOnPostgres is [build] with PostgreSQL, for tests about its connections.
func buildOnPostgres(t testing.TB, change func(*Server)) *fixture {
	t.Helper()
	return buildOn(t, change, func(h *fixture, dir data.Dir) {
		store := value(db.Open(t.Context(), db.Config{ConnString: dbtest.New(t, db.Migrate)}))(t)
		t.Cleanup(store.Close)
		must(t, store.Heartbeat(t.Context(), db.Host{ID: "elsewhere", DataRoot: dir.Root()}))
		h.store, h.away = store, store.Close
		h.listen = func(ctx context.Context) {
			_ = store.Listen(ctx, "here", db.Listener{Wake: h.daemon.Wake, Events: h.daemon.EventsChanged})
		}
	})
}

func buildOn(t testing.TB, change func(*Server), open func(*fixture, data.Dir)) *fixture {
	t.Helper()
	dir := value(data.Open(filepath.Join(wardentest.ShortDir(t), "data")))(t)
	h := &fixture{t: t, tmux: tmuxtest.NewFake(), log: &wardentest.Buffer{}, spec: loadSpec(t)}
	open(h, dir)
	people := value(personas.Open(dir.Personas()))(t)
	templates := value(personas.OpenTemplates(dir.Pipelines()))(t)
	log := slog.New(slog.NewTextHandler(h.log, nil))
	rooms := house.New(engine.Config{
		Host: "here", Store: h.store, Data: dir, Personas: people, Templates: templates, Log: log, Binary: "/bin/sh",
		Settings: engine.Settings{Handoff: daemon.DefaultHandoff, Runtimes: map[string][]string{"claude": {"/bin/sh"}}},
		Terminal: func(string) (engine.Terminal, error) { return h.tmux, nil },
		Notifier: silent{}, Targets: []tell.Route{{Name: "phone", Kind: "ntfy", Levels: []string{"error"}, Target: phone{}}}, Version: func(context.Context, []string) string { return "" },
	})
	h.daemon, h.house = rooms.Daemon, rooms
	h.token = value(dir.TokenValue())(t)
	h.server = New(Config{House: rooms, Personas: people, Templates: templates, Token: h.token, Log: log, Version: "1.2.3"})
	h.server.Address = &net.TCPAddr{} // set when the listener is open
	if change != nil {
		change(h.server)
	}
	must(t, h.daemon.Prepare(t.Context()))
	h.run(t, dir)
	h.client = NewClient(h.main)
	h.client.http.Transport = checkedTransport{h.client.http.Transport, h}
	t.Cleanup(h.client.Close)
	return h
}

// run runs the server and the daemon until the test ends.
func (h *fixture) run(t testing.TB, dir data.Dir) {
	t.Helper()
	h.main, h.hook = dir.Socket(), dir.HookSocket()
	ls := Listeners{Main: value(ListenUnix(h.main))(t), Hook: value(ListenUnix(h.hook))(t)}
	ls.TCP = value(ListenTCP(t.Context(), "127.0.0.1:0", false))(t)
	h.tcp = ls.TCP.Addr().String()
	if h.server.Address != nil {
		h.server.Address = ls.TCP.Addr()
	}

	working, stopWorking := context.WithCancel(context.Background())
	serving, stopServing := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { _ = h.daemon.Run(working) })
	if h.listen != nil {
		work.Go(func() { h.listen(working) })
	}
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(serving, ls) }()
	h.quit = sync.OnceValue(func() error {
		stopServing()
		return <-served
	})
	t.Cleanup(func() {
		must(t, h.quit())
		stopWorking()
		work.Wait()
	})
}

type silent struct{}

func (silent) Notify(context.Context, tell.Notification) (string, error) { return "nowhere", nil }

// agent commits an agent that has registered and is idle in a pane, on this host.
func (h *fixture) agent(change func(*daemon.Agent)) *daemon.Agent {
	h.t.Helper()
	id := value(h.store.NextID(context.Background(), daemon.AgentIDs))(h.t)
	pane := h.tmux.Add(tmux.PaneInfo{Mark: strconv.FormatInt(id, 10)})
	now := time.Now().UTC()
	a := &daemon.Agent{
		ID: id, Name: "a", Runtime: "claude", Host: "here",
		State: daemon.Idle, Generation: 1, AgentSession: daemon.AgentSession{Cwd: "/"}, CreatedAt: now, RegisteredAt: &now, SpawnedAt: &now,
		AgentPane: daemon.AgentPane{Pane: &pane.Pane, PaneSocket: pane.Socket, PaneServerPID: pane.ServerPID, PaneServerStart: pane.ServerStart},
	}
	if change != nil {
		change(a)
	}
	h.commit(&daemon.Change{NewAgent: a})
	return a
}

// handoff commits a handoff of an agent that is in a phase.
func (h *fixture) handoff(a *daemon.Agent, phase daemon.Phase, change func(*daemon.Handoff)) *daemon.Handoff {
	h.t.Helper()
	id, now := value(h.store.NextID(context.Background(), daemon.HandoffIDs))(h.t), time.Now().UTC()
	o := &daemon.Handoff{
		ID: id, Ref: fmt.Sprint("ref-", id), AgentID: a.ID, Persona: a.PersonaSlug(), Host: a.Host, Reason: "manual", Mode: daemon.ModeAgent, Generation: 1,
		Phase: phase, PhaseAt: now, FilePath: fmt.Sprintf("/handoffs/%d.md", id), Warnings: []string{}, Metrics: daemon.Metrics{Phases: map[daemon.Phase]int64{}},
		CreatedAt: now, StartedAt: &now, Heirs: []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: a.PersonaSlug()}}},
	}
	if phase == daemon.Failed || phase == daemon.Cancelled {
		o.CompletedAt, o.Error = &now, &daemon.Failure{Phase: daemon.Verifying, Code: "document_missing", Message: "There is none."}
	}
	if change != nil {
		change(o)
	}
	h.commit(&daemon.Change{NewHandoff: o})
	return o
}

// away moves an agent to another host, so that the daemon does nothing for it.
func away(a *daemon.Agent) { a.Host = "elsewhere" }

// ended ends an agent.
func ended(a *daemon.Agent) {
	now := time.Now()
	a.State, a.EndedAt = daemon.Ended, &now
}

// died ends an agent whose process is gone.
func died(a *daemon.Agent) {
	reason := "process_gone"
	ended(a)
	a.EndReason = &reason
}

func (h *fixture) commit(c *daemon.Change) {
	h.t.Helper()
	must(h.t, h.store.Commit(context.Background(), c))
}

// events commits n events of one type, each in a transaction of its own.
func (h *fixture) events(n int, typ event.Type, agentID *int64) {
	h.t.Helper()
	for i := range n {
		payload := json.RawMessage(fmt.Sprintf(`{"n": %d}`, i))
		h.commit(&daemon.Change{Events: []*event.Event{{Type: typ, Host: "here", AgentID: agentID, Payload: payload}}})
	}
}

// persona makes a persona and returns its slug.
func (h *fixture) persona() string {
	h.t.Helper()
	return value(h.client.CreatePersona(h.t.Context(), personas.New{Role: "developer", Name: "con"}))(h.t).Slug
}

// door is one way to call the API: over a socket or TCP, with headers.
type door struct {
	h      *fixture
	name   string
	base   string
	client *http.Client
	header http.Header // sent with each request
}

func (h *fixture) mainDoor() door { return h.socketDoor("main", h.main) }
func (h *fixture) hookDoor() door { return h.socketDoor("hook", h.hook) }

func (h *fixture) socketDoor(name, path string) door {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	return door{h: h, name: name, base: "http://localhost", client: &http.Client{Transport: checkedTransport{transport, h}}}
}

// tcpDoor calls over TCP with the token.
func (h *fixture) tcpDoor() door {
	transport := &http.Transport{DisableKeepAlives: true}
	return door{h: h, name: "tcp", base: "http://" + h.tcp, client: &http.Client{Transport: checkedTransport{transport, h}},
		header: http.Header{"Authorization": {"Bearer " + h.token}}}
}

// with returns a door that sends one more header.
func (d door) with(name, value string) door {
	header := http.Header{}
	maps.Copy(header, d.header)
	header.Set(name, value)
	d.header = header
	return d
}

// answer is an answer of the API.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request and reads the answer. It checks that an error has the shape of one.
func (d door) do(method, path, body string) answer {
	d.h.t.Helper()
	r := value(http.NewRequestWithContext(d.h.t.Context(), method, d.base+path, strings.NewReader(body)))(d.h.t)
	maps.Copy(r.Header, d.header)
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	response := value(d.client.Do(r))(d.h.t)
	defer response.Body.Close()
	got := answer{response.StatusCode, response.Header, value(io.ReadAll(response.Body))(d.h.t)}
	if got.status >= 400 && !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
		got.shape(d.h.t, method+" "+path)
	}
	return got
}

// ok is [door.do] for a request that must be done. Its answer must say each of the texts.
func (d door) ok(method, path, body string, says ...string) answer {
	d.h.t.Helper()
	got := d.do(method, path, body)
	if got.status >= 300 {
		d.h.t.Errorf("%s %s with %s: %d %s", method, path, body, got.status, got.body)
	}
	holds(d.h.t, method+" "+path, string(got.body), says...)
	return got
}

// refuses sends each of the bodies, which must be refused with the status and with its code.
func (d door) refuses(method, path string, status int, codes map[string]string) {
	d.h.t.Helper()
	for body, code := range codes {
		d.do(method, path, body).wants(d.h.t, body, status, code)
	}
}

// shape checks that an error is exactly {"error": sentence, "code": snake_case}.
func (a answer) shape(t testing.TB, what string) errorBody {
	t.Helper()
	var body errorBody
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil || body.Error == "" || body.Code == "" || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: status %d with %q (%s) is no error of ours", what, a.status, a.body, a.header.Get("Content-Type"))
	}
	return body
}

// wants checks the status and the code of an error.
func (a answer) wants(t testing.TB, what string, status int, code string) {
	t.Helper()
	if body := a.shape(t, what); a.status != status || string(body.Code) != code {
		t.Errorf("%s: got %d %s, want %d %s", what, a.status, bytes.TrimSpace(a.body), status, code)
	}
}

// wantError checks the error of a client's call.
func wantError(t testing.TB, err error, kind daemon.Kind, code, sentence string) {
	t.Helper()
	var told *daemon.Error
	if !errors.As(err, &told) || told.Kind != kind || string(told.Code) != code || sentence != "" && told.Message != sentence {
		t.Errorf("got %#v, want kind %d, code %s, %q", err, kind, code, sentence)
	}
}

// refused checks the error of a client's call that must fail: refused(f())(t, kind, code, sentence).
func refused[T any](_ T, err error) func(t testing.TB, kind daemon.Kind, code, sentence string) {
	return func(t testing.TB, kind daemon.Kind, code, sentence string) {
		t.Helper()
		wantError(t, err, kind, code, sentence)
	}
}

var must, wantErr, holds, shortDir = wardentest.Must, wardentest.WantErr, wardentest.Holds, wardentest.ShortDir

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	wardentest.Equal(t, what, got, want)
}

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

func failed[T any](v T, err error) func(testing.TB, string, ...any) { return wardentest.Failed(v, err) }
