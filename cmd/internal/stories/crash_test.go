package stories

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/tmux"
)

// A daemon is killed with SIGKILL at the points of a flow where it commits something or has an effect, before and
// after it, and is started again. The flow must end exactly once.

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

// bomb sees the calls by which a daemon commits something or has an effect, and goes off at some of them.
type bomb struct {
	due     func(p crashPoint, what string) bool // what tells calls of one kind apart
	act     func(p crashPoint, what string)
	fatal   bool   // act ends the process.
	armedBy string // the type of the event whose commit starts the count; "": a handoff's request

	mu    sync.Mutex
	armed bool
	calls map[string]int
	gone  bool // It has gone off since it was set.
}

// set makes the bomb go off once, at a point of the next handoff.
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

// reach is called before a call, and returns what is called after it. While a call ends the process, no other call
// reaches its point. A fork is the exception, because it makes calls of its own.
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

func (b *bomb) around(cfg engine.Config) engine.Config {
	cfg.Store = &crashStore{Store: cfg.Store, b: b}
	open := cfg.Terminal
	cfg.Terminal = func(socket string) (engine.Terminal, error) {
		t, err := open(socket)
		return &crashTerminal{Terminal: t, b: b}, err
	}
	cfg.Keeper = &crashKeeper{Keeper: cfg.Keeper, b: b}
	run := cfg.OneShot
	cfg.OneShot = func(ctx context.Context, job engine.OneShot) (engine.OneShotResult, error) {
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
		if s.b.armedBy != "" && string(e.Type) == s.b.armedBy {
			s.b.arm()
		}
	}
	after := s.b.reach("commit", summary(c))
	// It must be armed before the commit: the lane that the commit wakes may be faster than Commit's return.
	if c.NewHandoff != nil {
		s.b.arm()
	}
	err := s.Store.Commit(ctx, c)
	after()
	return err
}

// summary tells a commit from the other commits of its flow. It holds no id of a new row, because a repeated request
// gives the row another id.
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
	if c.PipelineMove != nil {
		for _, step := range c.PipelineMove.Steps {
			said = append(said, fmt.Sprint("step ", step.OrderIndex+1))
		}
	}
	for _, e := range c.Events {
		said = append(said, string(e.Type))
	}
	return strings.Join(said, ", ")
}

func (s *crashStore) RecordHook(ctx context.Context, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, error) {
	defer s.b.reach("hook", in.Event+" "+in.Key)()
	return s.Store.RecordHook(ctx, in, decide)
}

type crashTerminal struct {
	engine.Terminal
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

func (t *crashTerminal) Respawn(ctx context.Context, at tmux.Place, spec tmux.Spec) (tmux.PaneInfo, error) {
	defer t.b.reach("respawn", spec.Mark)()
	return t.Terminal.Respawn(ctx, at, spec)
}

func (t *crashTerminal) Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, keys ...tmux.Key) error {
	defer t.b.reach("keys", fmt.Sprint(ref.Pane, " of agent ", seen.Mark, keys))()
	return t.Terminal.Press(ctx, ref, seen, keys...)
}

func (t *crashTerminal) Kill(ctx context.Context, ref tmux.Ref) error {
	defer t.b.reach("kill", ref.Pane)()
	return t.Terminal.Kill(ctx, ref)
}

func (t *crashTerminal) KillMarked(ctx context.Context, ref tmux.Ref, mark string) error {
	defer t.b.reach("kill", ref.Pane)()
	return t.Terminal.KillMarked(ctx, ref, mark)
}

type crashKeeper struct {
	worktree.Keeper
	b *bomb
}

func (k *crashKeeper) Make(ctx context.Context, s worktree.Spec) (worktree.Made, error) {
	defer k.b.reach("tree", "make "+s.Kept)()
	return k.Keeper.Make(ctx, s)
}

func (k *crashKeeper) Merge(ctx context.Context, m worktree.Merging) (worktree.Merged, error) {
	defer k.b.reach("tree", "merge "+m.Into)()
	return k.Keeper.Merge(ctx, m)
}

func (k *crashKeeper) Remove(ctx context.Context, in worktree.Removal) (worktree.Removed, error) {
	defer k.b.reach("tree", "remove")()
	return k.Keeper.Remove(ctx, in)
}
