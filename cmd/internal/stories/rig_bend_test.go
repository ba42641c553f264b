package stories

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
)

// bend stands between a daemon and its world. Each function that is set replaces a call, and may carry out the real
// call by do. A call whose function is nil is not changed.
type bend struct {
	paste   func(ctx context.Context, text string, do func() error) error
	keys    func(keys []tmux.Key, do func() error) error
	spawn   func(ctx context.Context, do func() (tmux.PaneInfo, error)) (tmux.PaneInfo, error)
	capture func(do func() (map[string]string, error)) (map[string]string, error)
	commit  func(c *daemon.Change, do func() error) error
	hook    func(in daemon.HookInput, do func() (daemon.HookResult, error)) (daemon.HookResult, error)
}

// around changes the configuration of each daemon that starts from now on, after all earlier changes.
func (r *rig) around(change func(cfg *engine.Config)) {
	before := r.cfg.Around
	r.cfg.Around = func(cfg engine.Config) engine.Config {
		if before != nil {
			cfg = before(cfg)
		}
		change(&cfg)
		return cfg
	}
}

// bendWith puts a bend around the rig's daemon.
func (r *rig) bendWith(b *bend) *rig {
	r.around(func(cfg *engine.Config) {
		cfg.Store = &bentStore{Store: cfg.Store, b: b}
		open := cfg.Terminal
		cfg.Terminal = func(socket string) (engine.Terminal, error) {
			term, err := open(socket)
			return &bentTerminal{Terminal: term, b: b}, err
		}
	})
	return r
}

type bentTerminal struct {
	engine.Terminal
	b *bend
}

func (t *bentTerminal) Paste(ctx context.Context, ref tmux.Ref, text string, opt tmux.PasteOptions) error {
	do := func() error { return t.Terminal.Paste(ctx, ref, text, opt) }
	if t.b.paste == nil {
		return do()
	}
	return t.b.paste(ctx, text, do)
}

func (t *bentTerminal) Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, keys ...tmux.Key) error {
	do := func() error { return t.Terminal.Press(ctx, ref, seen, keys...) }
	if t.b.keys == nil {
		return do()
	}
	return t.b.keys(keys, do)
}

func (t *bentTerminal) Spawn(ctx context.Context, spec tmux.Spec) (tmux.PaneInfo, error) {
	do := func() (tmux.PaneInfo, error) { return t.Terminal.Spawn(ctx, spec) }
	if t.b.spawn == nil {
		return do()
	}
	return t.b.spawn(ctx, do)
}

func (t *bentTerminal) Capture(ctx context.Context, lines int, ansi bool, refs ...tmux.Ref) (map[string]string, error) {
	do := func() (map[string]string, error) { return t.Terminal.Capture(ctx, lines, ansi, refs...) }
	if t.b.capture == nil {
		return do()
	}
	return t.b.capture(do)
}

func (t *bentTerminal) Look(ctx context.Context, ref tmux.Ref) (tmux.View, error) {
	if t.b.capture == nil {
		return t.Terminal.Look(ctx, ref)
	}
	var view tmux.View
	shown, err := t.b.capture(func() (map[string]string, error) {
		var err error
		view, err = t.Terminal.Look(ctx, ref)
		return map[string]string{ref.Pane: view.Screen}, err
	})
	view.Screen = shown[ref.Pane]
	return view, err
}

type bentStore struct {
	daemon.Store
	b *bend
}

func (s *bentStore) Commit(ctx context.Context, c *daemon.Change) error {
	do := func() error { return s.Store.Commit(ctx, c) }
	if s.b.commit == nil {
		return do()
	}
	return s.b.commit(c, do)
}

func (s *bentStore) RecordHook(ctx context.Context, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, error) {
	do := func() (daemon.HookResult, error) { return s.Store.RecordHook(ctx, in, decide) }
	if s.b.hook == nil {
		return do()
	}
	return s.b.hook(in, do)
}

// gate is a point in the daemon's work at which a test wants to act.
type gate struct {
	reached chan struct{} // closed when the daemon is there, for the first time
	open    chan struct{} // closed when the daemon may go on
	came    atomic.Bool
	once    sync.Once
}

func newGate(t testing.TB) *gate {
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	t.Cleanup(g.goOn) // Otherwise the rig could not stop the daemon after a failure.
	return g
}

// pass is called by the daemon. The first caller waits until the gate opens, and gets true.
func (g *gate) pass() (first bool) {
	if !g.came.CompareAndSwap(false, true) {
		return false
	}
	close(g.reached)
	<-g.open
	return true
}

// await is called by the test: it waits until the daemon is at the gate.
func (g *gate) await(t testing.TB) {
	t.Helper()
	select {
	case <-g.reached:
	case <-time.After(cmdtest.Eventually):
		t.Fatal("the daemon never came to the gate")
	}
}

func (g *gate) goOn() { g.once.Do(func() { close(g.open) }) }
