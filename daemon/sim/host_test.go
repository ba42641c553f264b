package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// host is one machine: its files, its tmux server, its processes, and at most one run of a daemon at a time.
type host struct {
	w      *world
	name   string
	dir    data.Dir
	config string // configuration directory of the agents' runtime
	cwd    string // working directory of the agents
	table  *tmuxtest.Processes
	term   *terminal
	starts int          // how often a daemon was started
	daemon *daemonRun   // nil: no daemon runs
	asleep time.Time    // the machine sleeps until then
	absent []span       // when nobody could do anything on the host
	clocks []clock      // how the wall clock was set
	shift  atomic.Int64 // by how much the wall clock is ahead; atomic, since a daemon reads it at any moment
	began  time.Time    // when the newest daemon began to listen
	nonce  int          // makes the keys of hooks unique
	hooks  int          // how many processes of hooks were started
	twice  bool         // the runtime runs each hook twice
	others []*owner     // the processes of hooks

	queues   map[string][]string // the texts in the queues of Codex, by session
	sessions []*opencodeSession  // the sessions in OpenCode's database
	registry sync.Map            // the entries of the agents' runtime, by path
	wood     wood
}

// settings returns the default settings with some deadlines shorter, so that a run meets some and misses others.
func settings() engine.Settings {
	set := engine.Settings{
		Handoff:     daemon.DefaultHandoff,
		Runtimes:    map[string][]string{"claude": {"claude"}},
		Log:         daemon.LogSettings{MaxRows: 100_000},
		Permissions: daemon.PermissionSettings{Hold: time.Minute},
	}
	set.Handoff.DocumentTimeout = 90 * time.Second
	set.Handoff.BusyTimeout = 2 * time.Minute
	set.Handoff.Auto.Enabled = true
	set.Pipeline = daemon.PipelineSettings{StepTimeout: 3 * time.Minute, MaxRunning: maxRunning}
	return set
}

func newHost(w *world, name string) (*host, error) {
	root := filepath.Join(w.root, name)
	h := &host{w: w, name: name, dir: data.At(filepath.Join(root, "data")), config: filepath.Join(root, "claude"), cwd: filepath.Join(root, "work"),
		queues: map[string][]string{}, wood: wood{trees: map[string]tree{}, kept: map[string]tree{}, cut: map[string]int{}}}
	for _, dir := range []string{h.dir.Pipelines(), filepath.Join(h.dir.Root(), "run"), h.config, h.cwd} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	for _, slug := range personaSlugs {
		if err := os.MkdirAll(h.dir.Persona(slug), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(h.dir.Persona(slug), "skill.md"), []byte("---\nname: "+slug+"\ndescription: develops\n---\nYou develop with care.\n"), 0o600); err != nil {
			return nil, err
		}
	}
	if err := writeTemplates(h.dir.Pipelines(), w.routes); err != nil {
		return nil, err
	}
	h.table = tmuxtest.NewProcesses()
	h.term = newTerminal(h)
	return h, nil
}

var personaSlugs = []string{"developer-con-1", "developer-kim-2", "developer-ada-3"}

// daemonRun is one run of a daemon, from its start to its end.
type daemonRun struct {
	owner
	w         *world
	h         *host
	house     *house.House
	d         *intake.Daemon
	locks     []lock // the mutexes of d
	cancel    context.CancelCauseFunc
	ctx       context.Context
	listening bool
	seen      seen
}

var (
	errStopped = errors.New("the daemon was asked to stop")
	errCrashed = errors.New("the daemon was killed")
)

// start starts a daemon on the host, as the service manager does.
func (h *host) start() error {
	h.starts++
	g := &daemonRun{owner: owner{name: fmt.Sprintf("%s.%d", h.name, h.starts), host: h}, w: h.w, h: h, seen: newSeen()}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	people, err := personas.Open(h.dir.Personas())
	if err != nil {
		return err
	}
	templates, err := personas.OpenTemplates(h.dir.Pipelines())
	if err != nil {
		return err
	}
	g.house = house.New(engine.Config{
		Host: h.name, Settings: h.w.settings(), Store: newGated(g, h.w.store), Data: h.dir, Personas: people, Templates: templates,
		Terminal:  func(string) (engine.Terminal, error) { return &console{g, h.term}, nil },
		Notifier:  notifier{g},
		Clock:     h.now,
		Processes: processes{g},
		Registry:  h.entry,
		Random:    &numbers{rng: generator(h.w.seed, g.name)},
		Log:       slog.New(&logger{w: h.w, who: g.name}),
		Environ:   []string{"CLAUDE_CONFIG_DIR=" + h.config, "HOME=" + filepath.Dir(h.config), "PATH=/bin"},
		Binary:    "/bin/true",
		OneShot:   g.oneShot,
		Control:   func(link engine.Link) (engine.Control, error) { return &control{g, link}, nil },
		FreePort:  func() (int, error) { return 4096, nil },
		Environment: func(pid int) ([]string, error) {
			environ := []string{"CLAUDE_CONFIG_DIR=" + h.config, "ANTHROPIC_AUTH_TOKEN=" + h.name}
			for _, a := range h.w.agents {
				if a.h == h && a.proc.PID == pid {
					environ = append(environ, "UNDERSTUDY_LAUNCH="+a.env["UNDERSTUDY_LAUNCH"])
				}
			}
			return environ, nil
		},
		Keeper: keeper{g},
	})
	g.d = g.house.Daemon
	g.locks = locksOf(g.house)
	h.daemon = g
	h.w.trace.note(g.name, "daemon starts")
	go g.run()
	return nil
}

// run runs the daemon as the program does.
func (g *daemonRun) run() {
	ctx := daemon.WithCaller(g.ctx, "start")
	if err := g.d.Prepare(ctx); err != nil {
		g.end("could not begin: " + err.Error())
		return
	}
	g.listening, g.h.began = true, time.Now()
	err := g.d.Run(g.ctx)
	g.w.park(&call{own: &g.owner, what: "ended"})
	g.end(fmt.Sprint(err))
}

// end ends the daemon in order. The service manager starts the next one.
func (g *daemonRun) end(why string) {
	g.w.trace.note(g.name, "daemon ends: %s", why)
	g.gone()
}

// crash kills the daemon and ends the calling goroutine, which must be one of the daemon's own.
func (g *daemonRun) crash() {
	g.w.trace.note(g.name, "daemon is killed")
	g.gone()
	runtime.Goexit()
}

// entry returns a session's entry in the registry of the agents' runtime.
func (h *host) entry(path string) ([]byte, error) {
	if text, ok := h.registry.Load(path); ok {
		return text.([]byte), nil
	}
	return nil, fs.ErrNotExist
}

func (g *daemonRun) gone() {
	g.listening = false
	g.w.kill(&g.owner)
	g.cancel(errCrashed)
	if g.h.daemon == g {
		g.h.daemon = nil
		g.h.w.restart(g.h)
	}
}

// call runs do as a request to the daemon. answered is false if the daemon ended or took too long.
func (g *daemonRun) call(name string, within time.Duration, do func(ctx context.Context, d *house.House) error) (answered bool, err error) {
	answer := make(chan error, 1)
	go func() {
		defer close(answer)
		ctx, cancel := context.WithTimeout(daemon.WithCaller(g.ctx, name), within)
		defer cancel()
		err := do(ctx, g.house)
		o := g.w.park(&call{own: &g.owner, who: name, what: "answers", kind: deciding})
		switch o.fault {
		case crashBefore, crashAfter:
			g.crash()
		case lostReply:
			return
		}
		answer <- err
	}()
	timer := time.NewTimer(within + time.Second)
	defer timer.Stop()
	select {
	case err, answered = <-answer:
	case <-timer.C:
	}
	return answered, err
}

// notifier is the operator's desktop.
type notifier struct{ g *daemonRun }

func (n notifier) Notify(ctx context.Context, in tell.Notification) (string, error) {
	return carry(n.g, ctx, telling, "Notify "+in.Title, func() (string, error) {
		n.g.w.trace.note(n.g.name, "☞ %s: %s", in.Title, in.Message)
		return "desktop", nil
	})
}

// numbers is the daemon's source of randomness. Its numbers depend only on the seed and on the order of the reads. That
// order is fixed, because a daemon reads it right after a call, when only one goroutine runs.
type numbers struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (n *numbers) Read(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range b {
		b[i] = byte(n.rng.Uint32())
	}
	return len(b), nil
}

// logger writes the warnings of a daemon's log into the trace. Some entries make the run fail; see [world.logged].
type logger struct {
	w   *world
	who string
}

func (l *logger) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *logger) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *logger) WithGroup(string) slog.Handler                    { return l }

func (l *logger) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprintf(&b, " %s=%v", a.Key, a.Value); return true })
	l.w.logged(l.who, r.Level, b.String())
	return nil
}

// hook runs an agent's hook and waits for the answer. A runtime with the hook command in two places of its settings runs
// it twice at the same time, with two keys. Sometimes one process sends its payload twice, under one key, and waits for
// one answer.
func (h *host) hook(a *agent, event string, payload actor.Fields) (answer hookAnswer) {
	body := must(json.Marshal(payload))
	a.sent = append(a.sent, body)
	env := h.envelope(a, event, body)
	runs := []chan hookAnswer{h.runHook(a, env, false)}
	switch {
	case h.twice:
		runs = append(runs, h.runHook(a, h.envelope(a, event, body), false))
	case !a.w.plan.on["hooks doubled"] || !a.odd("hook doubled", 0.2):
	case a.rng.IntN(2) == 0:
		runs = append(runs, h.runHook(a, h.envelope(a, event, body), false))
	default:
		h.runHook(a, env, true)
	}
	for _, done := range runs {
		select {
		case got := <-done:
			if got.block || got.permits != "" {
				answer = got
			}
		case <-a.ended:
			runtime.Goexit()
		}
	}
	return answer
}

func (h *host) envelope(a *agent, event string, body []byte) hooks.Envelope {
	h.nonce++
	at := h.now()
	env := hooks.Envelope{
		Key: fmt.Sprintf("%016x%04x%012x", at.UnixNano(), a.proc.PID%65536, h.nonce), Event: event, Launch: a.env["UNDERSTUDY_LAUNCH"],
		AgentPID: a.proc.PID, AgentStart: a.proc.Start, Boot: boot, At: at, Body: body,
	}
	env.Holds = event == hooks.PermissionRequest && a.cli.rt.Can.HoldsPermission
	if a.cli != claudeCLI {
		env.Runtime = a.cli.rt.Name
	}
	if a.own {
		env.Tmux, env.Pane = fmt.Sprintf("%s,%d,0", a.ref.Socket, a.ref.ServerPID), a.ref.Pane
	}
	return env
}

// runHook starts a process that sends the payload to the daemon and prints the answer, or puts the payload into the
// spool. With again it sends a payload that another process has sent too; only that one spools it.
func (h *host) runHook(a *agent, env hooks.Envelope, again bool) (done chan hookAnswer) {
	p := h.table.Start(a.proc.PID, nil)
	h.hooks++
	own := &owner{name: fmt.Sprintf("%s hook %s-%d of %d", h.name, env.Event, h.hooks, a.proc.PID), host: h}
	h.others = append(h.others, own)
	done = make(chan hookAnswer, 1)
	go func() {
		defer close(done)
		defer h.table.End(p)
		done <- h.send(own, a, p, env, again)
	}()
	return done
}

func (h *host) send(own *owner, a *agent, p tmux.Process, env hooks.Envelope, again bool) (answer hookAnswer) {
	if o := h.w.park(&call{own: own, what: "connects", kind: sending}); o.fault == lostHook {
		return answer
	}
	spool := func(why string) hookAnswer {
		if again {
			return hookAnswer{}
		}
		h.w.park(&call{own: own, what: "spools: " + why})
		spool := hooks.OpenSpool(h.dir.Spool())
		spool.Clock = h.now
		if err := spool.Put(env); err != nil {
			h.w.trace.note(own.name, "not spooled: %v", err)
		}
		return hookAnswer{}
	}
	g := h.daemon
	if g == nil || !g.listening {
		return spool("no daemon listens")
	}
	var said json.RawMessage
	var permission int64
	var answered bool
	var err error
	peer := &tmux.Peer{Process: p, UID: os.Geteuid()}
	if env.Holds {
		said, answered, err = h.sendHeld(own, env, peer, func(id int64) { permission = id })
	} else {
		answered, err = g.call(own.name, hooks.AnswerTimeout(env.Event), func(ctx context.Context, d *house.House) (err error) {
			said, err = d.Daemon.Hook(ctx, env, peer)
			return err
		})
	}
	var told *daemon.Error
	switch {
	case !answered:
		return spool("no answer")
	case errors.As(err, &told) && told.Kind != daemon.KindUnavailable && told.Kind != daemon.KindInternal:
		h.w.fail("hook %s was refused: %v", env.Event, err)
		return answer
	case err != nil:
		return spool(err.Error())
	}
	var out struct {
		Decision, Reason   string
		HookSpecificOutput struct{ Decision struct{ Behavior string } }
	}
	if len(said) > 0 && json.Unmarshal(said, &out) == nil {
		answer = hookAnswer{permits: out.HookSpecificOutput.Decision.Behavior, block: out.Decision == "block", reason: out.Reason}
		if permission != 0 {
			h.w.permitted[permission] = answer.permits
		}
	}
	h.w.park(&call{own: own, what: "returns"})
	return answer
}

// hookAnswer is the daemon's answer to a hook.
type hookAnswer struct {
	permits string // allow or deny: the decision about a permission
	block   bool
	reason  string
}
