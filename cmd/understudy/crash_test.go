package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// A daemon is killed with SIGKILL at points of a handoff where it commits something or has an effect,
// before and after, and started again. Each time the handoff must end exactly once.

// crashPoint names one such point: the n-th call of its kind after the handoff was requested.
type crashPoint struct {
	Call  string // commit, hook, paste, spawn, fork
	After bool
	N     int
}

func (p crashPoint) String() string {
	when := "before"
	if p.After {
		when = "after"
	}
	return fmt.Sprintf("%s/%s/%d", p.Call, when, p.N)
}

// crashDaemon is what the child process that gets killed is told.
type crashDaemon struct {
	Root     string
	Settings settings
	Environ  []string
	Binary   string
	Hook     string
	Point    *crashPoint
	Arm      string // the type of the event from whose commit on calls count; "": a handoff's request
}

// crashServe is the child: a daemon that kills itself at its point.
func crashServe(args []string) int {
	var c crashDaemon
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	bomb := &bomb{point: c.Point, calls: map[string]int{}, armedBy: c.Arm}
	err := serve(context.Background(), serveConfig{
		Root: c.Root, Settings: c.Settings, Environ: c.Environ, Binary: c.Binary, HookBinary: c.Hook,
		Getenv: func(string) string { return "" }, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Around: bomb.around,
		Ready: func(*serving) { fmt.Println("ready") },
	})
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// bomb counts calls from the request of a handoff on, and kills its process at its point.
type bomb struct {
	act     func() // nil: the process kills itself
	armedBy string // type of an event; see crashDaemon.Arm

	mu    sync.Mutex
	point *crashPoint
	armed bool
	calls map[string]int
}

// set puts the bomb at a point of the next handoff.
func (b *bomb) set(p crashPoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.point, b.armed, b.calls = &p, false, map[string]int{}
}

func (b *bomb) arm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = true
}

// enter counts a call and returns its number; 0: not armed.
func (b *bomb) enter(call string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.armed {
		return 0
	}
	b.calls[call]++
	b.fireLocked(crashPoint{Call: call, N: b.calls[call]})
	return b.calls[call]
}

func (b *bomb) leave(call string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 {
		b.fireLocked(crashPoint{Call: call, After: true, N: n})
	}
}

func (b *bomb) fireLocked(p crashPoint) {
	if b.point == nil || *b.point != p {
		return
	}
	b.point = nil
	if b.act != nil {
		b.act()
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}

// gone reports whether the bomb has gone off.
func (b *bomb) gone() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.point == nil
}

func (b *bomb) around(cfg daemon.Config) daemon.Config {
	cfg.Store = &crashStore{Store: cfg.Store, b: b}
	open := cfg.Terminal
	cfg.Terminal = func(socket string) (daemon.Terminal, error) {
		t, err := open(socket)
		return &crashTerminal{Terminal: t, b: b}, err
	}
	cfg.Trees = &crashTrees{Trees: cfg.Trees, b: b}
	run := cfg.OneShot
	cfg.OneShot = func(ctx context.Context, job daemon.OneShot) (daemon.OneShotResult, error) {
		n := b.enter("fork")
		defer b.leave("fork", n)
		return run(ctx, job)
	}
	return cfg
}

type crashStore struct {
	daemon.Store
	b *bomb
}

func (s *crashStore) Commit(ctx context.Context, c *daemon.Change) error {
	n := s.b.enterCommit(c)
	if c.NewHandoff != nil { // before the commit: the lane that it wakes may be faster than its answer
		s.b.arm()
	}
	err := s.Store.Commit(ctx, c)
	s.b.leave("commit", n)
	return err
}

func (s *crashStore) RecordHook(ctx context.Context, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, error) {
	n := s.b.enter("hook")
	defer s.b.leave("hook", n)
	return s.Store.RecordHook(ctx, in, decide)
}

type crashTerminal struct {
	daemon.Terminal
	b *bomb
}

func (t *crashTerminal) Paste(ctx context.Context, ref tmux.Ref, text string, opt tmux.PasteOptions) error {
	n := t.b.enter("paste")
	defer t.b.leave("paste", n)
	return t.Terminal.Paste(ctx, ref, text, opt)
}

func (t *crashTerminal) Spawn(ctx context.Context, spec tmux.Spec) (tmux.PaneInfo, error) {
	n := t.b.enter("spawn")
	defer t.b.leave("spawn", n)
	return t.Terminal.Spawn(ctx, spec)
}

// enterCommit counts a commit. The one that the bomb is armed by counts itself.
func (b *bomb) enterCommit(c *daemon.Change) int {
	for _, e := range c.Events {
		if b.armedBy != "" && e.Type == b.armedBy {
			b.arm()
		}
	}
	return b.enter("commit")
}

func (t *crashTerminal) Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, keys ...tmux.Key) error {
	n := t.b.enter("keys")
	defer t.b.leave("keys", n)
	return t.Terminal.Press(ctx, ref, seen, keys...)
}

func (t *crashTerminal) Kill(ctx context.Context, ref tmux.Ref) error {
	n := t.b.enter("kill")
	defer t.b.leave("kill", n)
	return t.Terminal.Kill(ctx, ref)
}

type crashTrees struct {
	daemon.Trees
	b *bomb
}

func (t *crashTrees) Add(ctx context.Context, dir, branch, path string) (string, error) {
	n := t.b.enter("tree")
	defer t.b.leave("tree", n)
	return t.Trees.Add(ctx, dir, branch, path)
}

func (t *crashTrees) Remove(ctx context.Context, dir, path string) (string, error) {
	n := t.b.enter("tree")
	defer t.b.leave("tree", n)
	return t.Trees.Remove(ctx, dir, path)
}

// child starts the daemon as a process of its own and waits until it answers.
func (r *rig) child(point *crashPoint, arm ...string) *exec.Cmd {
	r.t.Helper()
	arg, err := json.Marshal(crashDaemon{Root: r.root, Settings: r.cfg.Settings, Environ: r.cfg.Environ, Binary: r.cfg.Binary, Hook: r.cfg.HookBinary, Point: point, Arm: strings.Join(arm, "")})
	if err != nil {
		r.t.Fatal(err)
	}
	own, err := os.Executable() // no other knows the command
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(own, "crash-serve", string(arg))
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if r.t.Failed() {
			r.t.Logf("daemon %d:\n%s", cmd.Process.Pid, log.String())
		}
	})
	buf := make([]byte, 6)
	if _, err := out.Read(buf); err != nil {
		_ = cmd.Wait()
		r.t.Fatalf("daemon did not come up: %v\n%s", err, log.String())
	}
	return cmd
}

// killed waits until the child has died of its bomb.
func (r *rig) killed(cmd *exec.Cmd) {
	r.t.Helper()
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }() // its error is the signal
	select {
	case <-done:
	case <-time.After(eventually):
		_ = cmd.Process.Kill()
		<-done
		r.t.Fatalf("the daemon never came to its point\n%s", r.report())
	}
}

// TestKilled kills the daemon at a few of the points that TestKilledAtEveryPoint walks through.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, p := range []crashPoint{{"commit", true, 3}, {"paste", true, 1}, {"spawn", true, 1}} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			killedAt(t, daemon.ModeAgent, p)
		})
	}
}

func killedAt(t *testing.T, mode string, p crashPoint) {
	r := newRig(t)
	first := r.child(&p)
	a := r.agent("developer-con-1")
	if mode == daemon.ModeGenerate {
		r.turn(a.ID, "Find out why the tests are slow") // there is a session then
		r.awaitAgent(a.ID, "its first report", func(a daemon.Agent) bool { return a.Context != nil })
	}
	// The daemon may die after it has committed the row and before it has answered.
	_, _ = r.client.RequestHandoff(t.Context(), a.ID, daemon.HandoffRequest{Mode: mode, Force: true})
	r.killed(first)
	r.child(nil)
	h, err := r.client.LatestHandoff(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	h = r.awaitPhase(h.ID, daemon.Completed)
	r.endedOnce(h)
}

// endedOnce checks what must hold after a handoff, whatever happened on the way.
func (r *rig) endedOnce(h daemon.Handoff) {
	r.t.Helper()
	ctx := r.t.Context()
	r.awaitAgent(*h.SuccessorID, "idle after its briefing", func(a daemon.Agent) bool { return a.State == daemon.Idle })
	agents, err := r.client.Agents(ctx, api.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(agents) != 2 || agents[0].ID != *h.SuccessorID || agents[0].EndedAt != nil || agents[1].EndedAt == nil {
		r.t.Errorf("agents %+v: want the ended one and its one successor", agents)
	}
	for _, a := range agents {
		b, err := os.ReadFile(*a.TranscriptPath)
		if err != nil {
			r.t.Fatal(err)
		}
		want := 1
		if a.EndedAt != nil && h.Mode == daemon.ModeGenerate {
			want = 0
		}
		if n := submissions(b, h.Ref); n != want {
			r.t.Errorf("agent %d was told %d times, want %d\n%s", a.ID, n, want, b)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(h.FilePath)); err != nil || len(files) != 2 {
		r.t.Errorf("files %v, %v: want the document and its context", files, err)
	}
	moves, err := r.client.Transitions(ctx, h.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	var path []string
	for i, m := range moves {
		if i > 0 && moves[i-1].To != m.From {
			r.t.Errorf("transition %d goes on from %s, but the one before led to %s", i, m.From, moves[i-1].To)
		}
		path = append(path, string(m.To))
	}
	want := "instructing awaiting_document verifying recorded shutting_down spawning awaiting_registration injecting_skill briefing completed"
	if h.Mode == daemon.ModeGenerate {
		want = strings.Replace(want, "instructing awaiting_document", "generating", 1)
	}
	if got := strings.Join(path, " "); got != want {
		r.t.Errorf("went through %s, want %s", got, want)
	}
	panes, err := r.tmux.List(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(panes) != 1 || panes[0].Mark != strconv.FormatInt(*h.SuccessorID, 10) {
		r.t.Errorf("panes %+v: want the successor's alone", panes)
	}
}

// TestGenerateDaemonKilled: the fork ends with the daemon that runs it. The next one asks again.
func TestGenerateDaemonKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	traces := r.traceForks()
	first := r.child(nil)
	a := r.spokenTo()
	r.misbehave("fork-hang")
	id := r.generate(a.ID, "")
	pids := r.awaitFork(traces)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.wantGoneSoon(2*time.Second, pids...)
	r.killed(first)
	r.misbehave("")
	r.child(nil)
	r.endedOnce(r.awaitPhase(id, daemon.Completed))
}

// submissions counts the user entries of a transcript that contain the nonce.
func submissions(transcript []byte, nonce string) int {
	n := 0
	for line := range strings.Lines(string(transcript)) {
		var e struct {
			Type string `json:"type"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type == "user" && strings.Contains(line, nonce) {
			n++
		}
	}
	return n
}
