package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// A daemon is killed with SIGKILL at points of a flow where it commits something or has an effect, before and after,
// and started again. The flow must end exactly once.

// crashPoint is the n-th call of its kind since the bomb was armed.
type crashPoint struct {
	Call  string // commit, hook, paste, keys, spawn, kill, tree, fork
	After bool
	N     int
}

func (p crashPoint) String() string { return fmt.Sprintf("%s/%s/%d", p.Call, whether(p.After), p.N) }

func whether(after bool) string {
	if after {
		return "after"
	}
	return "before"
}

// bomb sees the calls of a daemon by which it commits something or has an effect, and goes off at some.
type bomb struct {
	due     func(p crashPoint, what string) bool // what tells calls of one kind apart
	act     func(p crashPoint, what string)
	fatal   bool   // act ends the process
	armedBy string // the type of the event from whose commit on calls count; "": a handoff's request

	mu    sync.Mutex
	armed bool
	calls map[string]int
	gone  bool // it has gone off since it was set
}

// set has the bomb go off at a point of the next handoff, once.
func (b *bomb) set(p crashPoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed, b.calls, b.gone = false, map[string]int{}, false
	b.due = func(at crashPoint, _ string) bool { return at == p && !b.gone }
}

func (b *bomb) arm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = true
}

// reach is the point before a call; what it returns is the one after it. A call that ends the process is waited for:
// no other one comes to its point meanwhile. A fork has calls of its own, so it is not.
func (b *bomb) reach(call, what string) (after func()) {
	b.mu.Lock()
	if !b.armed {
		b.mu.Unlock()
		return func() {}
	}
	b.calls[call]++
	at := crashPoint{Call: call, N: b.calls[call]}
	b.fireLocked(at, what)
	at.After = true
	if b.fatal && call != "fork" && b.due(at, what) {
		return func() { b.fireLocked(at, what) }
	}
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.fireLocked(at, what)
	}
}

func (b *bomb) fireLocked(at crashPoint, what string) {
	if b.due(at, what) {
		b.gone = true
		b.act(at, what)
	}
}

// wentOff reports whether the bomb has gone off since it was set.
func (b *bomb) wentOff() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gone
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
		defer b.reach("fork", "")()
		return run(ctx, job)
	}
	return cfg
}

type crashStore struct {
	daemon.Store
	b *bomb
}

func (s *crashStore) Commit(ctx context.Context, c *daemon.Change) error {
	for _, e := range c.Events {
		if s.b.armedBy != "" && e.Type == s.b.armedBy {
			s.b.arm()
		}
	}
	after := s.b.reach("commit", summary(c))
	if c.NewHandoff != nil { // before the commit: the lane that it wakes may be faster than its answer
		s.b.arm()
	}
	err := s.Store.Commit(ctx, c)
	after()
	return err
}

// summary tells a commit from the others of its flow. No id of a new row is in it: asked for again, the row has another.
func summary(c *daemon.Change) string {
	var said []string
	if c.Move != nil {
		said = append(said, string(c.Move.From)+"→"+string(c.Move.Handoff.Phase))
	}
	for _, dl := range slices.Concat(c.NewDeliveries, c.Deliveries) {
		said = append(said, string(dl.Kind)+" "+string(dl.State))
	}
	for _, a := range c.Agents {
		said = append(said, fmt.Sprint("agent ", a.ID))
	}
	if c.Run != nil {
		for _, step := range c.Run.Steps {
			said = append(said, fmt.Sprint("step ", step.OrderIndex+1))
		}
	}
	for _, e := range c.Events {
		said = append(said, e.Type)
	}
	return strings.Join(said, ", ")
}

func (s *crashStore) RecordHook(ctx context.Context, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, error) {
	defer s.b.reach("hook", in.Event+" "+in.Key)()
	return s.Store.RecordHook(ctx, in, decide)
}

type crashTerminal struct {
	daemon.Terminal
	b *bomb
}

func (t *crashTerminal) Paste(ctx context.Context, ref tmux.Ref, text string, opt tmux.PasteOptions) error {
	defer t.b.reach("paste", ref.Pane+" "+text)()
	return t.Terminal.Paste(ctx, ref, text, opt)
}

func (t *crashTerminal) Spawn(ctx context.Context, spec tmux.Spec) (tmux.PaneInfo, error) {
	defer t.b.reach("spawn", spec.Mark)()
	return t.Terminal.Spawn(ctx, spec)
}

func (t *crashTerminal) Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, keys ...tmux.Key) error {
	defer t.b.reach("keys", fmt.Sprint(ref.Pane, keys))()
	return t.Terminal.Press(ctx, ref, seen, keys...)
}

func (t *crashTerminal) Kill(ctx context.Context, ref tmux.Ref) error {
	defer t.b.reach("kill", ref.Pane)()
	return t.Terminal.Kill(ctx, ref)
}

type crashTrees struct {
	daemon.Trees
	b *bomb
}

func (t *crashTrees) Add(ctx context.Context, dir, branch, path string) (string, error) {
	defer t.b.reach("tree", "add "+path)()
	return t.Trees.Add(ctx, dir, branch, path)
}

func (t *crashTrees) Remove(ctx context.Context, dir, path string) (string, error) {
	defer t.b.reach("tree", "remove "+path)()
	return t.Trees.Remove(ctx, dir, path)
}

// TestKilled is a short [TestKilledAtEveryPoint].
func TestKilled(t *testing.T) {
	t.Parallel()
	walkHandoff(t, daemon.ModeAgent, map[string]int{"paste": 3, "spawn": 1}, "paste", "spawn")
}

// walkHandoff is a handoff whose daemon is killed at every point of these kinds.
func walkHandoff(t *testing.T, mode string, least map[string]int, calls ...string) {
	r := newRig(t)
	w := r.walk("", calls...)
	a := r.agent("developer-con-1")
	if mode == daemon.ModeGenerate {
		r.turn(a.ID, "Find out why the tests are slow") // there is a session then
		r.awaitAgent(a.ID, "its first report", func(a daemon.Agent) bool { return a.Context != nil })
	}
	// The daemon may die after it has committed the row and before it has answered.
	_, _ = r.client.RequestHandoff(t.Context(), a.ID, daemon.HandoffRequest{Mode: mode, Force: true})
	var h daemon.Handoff
	w.until("the handoff, and its successor idle", func() (bool, string) {
		var err error
		if h, err = r.client.LatestHandoff(t.Context(), a.ID); err != nil {
			return false, err.Error()
		}
		if h.Phase != daemon.Completed {
			if !h.Open() {
				t.Fatalf("handoff %s: %+v\n%s\n%s", h.Phase, h.Error, strings.Join(beenTo(w.told.Walk), "\n"), r.report())
			}
			return false, fmt.Sprintf("%s %s", h.Phase, h.Note)
		}
		successor, err := r.client.Agent(t.Context(), *h.SuccessorID)
		return err == nil && successor.State == daemon.Idle && r.panes() == 1, fmt.Sprintf("%s %v", successor.State, err)
	})
	w.end(least)
	r.endedOnce(h)
}

// panes is how many panes there are; -1: tmux does not say.
func (r *rig) panes() int {
	list, err := r.tmux.List(r.t.Context())
	if err != nil {
		return -1
	}
	return len(list)
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
	first := r.child()
	a := r.spokenTo()
	r.misbehave("fork-hang")
	id := r.generate(a.ID, "")
	pids := r.awaitFork(traces)
	first.kill()
	r.wantGoneSoon(2*time.Second, pids...)
	r.misbehave("")
	r.child()
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
