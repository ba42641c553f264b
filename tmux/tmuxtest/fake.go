package tmuxtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/understudyd/understudy/tmux"
)

// Input is one text or one key that was typed into a pane of a Fake.
type Input struct {
	Text string // sanitized, as the program gets it
	Key  tmux.Key
}

// Fake is a tmux server in memory. It records what is typed, and its panes run what the test
// scripts: by default each behaves as cat in a terminal. It is safe for concurrent use.
//
// It refuses what a real server refuses, and so needs real directories and programs, but it runs no
// processes: a pane's PID is above all that the system uses, unless the test sets one.
type Fake struct {
	// OnSpawn, if set, is called with every new pane before Spawn returns. If it returns an error, Spawn
	// returns that error and makes no pane.
	OnSpawn func(spec tmux.Spec, pane tmux.PaneInfo) error
	// OnInput, if set, replaces cat. It is called for each input in order, and may call
	// the Fake's methods.
	OnInput func(ref tmux.Ref, in Input)

	mu    sync.Mutex // guards the fields below
	ref   tmux.Ref   // the server's; Pane is empty
	next  int
	panes map[string]*fakePane
	fail  error

	messages []string
}

type fakePane struct {
	tmux.PaneInfo
	screen []string // with the scrollback
	line   int      // where the line being typed begins in the last row; for cat only
	inputs []Input
	once   string // the last PasteOptions.Once
	closed bool   // by Respawn
	looked bool   // a client looks at it
	noted  tmux.Line
	says   string // by Say
	by     int64
}

// firstPID is above every process id: Linux's highest is 2^22.
const firstPID = 1<<22 + 1

// NewFake returns a server without panes.
func NewFake() *Fake {
	return &Fake{
		ref:   tmux.Ref{Socket: "/fake/tmux.sock", ServerPID: firstPID, ServerStart: 1_700_000_000},
		panes: map[string]*fakePane{},
	}
}

// Server returns the process id of the server, which is also in the refs of its panes.
func (f *Fake) Server() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ref.ServerPID
}

// Fail makes each call of a Terminal's method return err, until Fail(nil). A daemon's own sweep calls as well: a failure
// of one call alone could be the sweep's.
func (f *Fake) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = err
}

func (f *Fake) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail
}

// Add adds a pane that somebody else made. It fills in empty fields.
func (f *Fake) Add(pane tmux.PaneInfo) tmux.PaneInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.add(pane)
}

func (f *Fake) add(pane tmux.PaneInfo) tmux.PaneInfo {
	id := "%" + strconv.Itoa(f.next)
	f.next++
	pane.Ref = f.ref
	pane.Pane = id
	pane.PID = cmp.Or(pane.PID, firstPID+f.next)
	pane.Width, pane.Height = cmp.Or(pane.Width, 200), cmp.Or(pane.Height, 50)
	f.panes[id] = &fakePane{PaneInfo: pane, screen: []string{""}}
	return pane
}

// Inputs returns what was typed into a pane, in order. The pane may be gone.
func (f *Fake) Inputs(ref tmux.Ref) []Input {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.panes[ref.Pane]; p != nil {
		return slices.Clone(p.inputs)
	}
	return nil
}

// SetScreen replaces the screen of a pane by text.
func (f *Fake) SetScreen(ref tmux.Ref, text string) {
	f.with(ref, func(p *fakePane) { p.screen, p.line = strings.Split(text, "\n"), 0 })
}

// Update changes the description of a pane, such as its title, mode or process.
func (f *Fake) Update(ref tmux.Ref, change func(*tmux.PaneInfo)) {
	f.with(ref, func(p *fakePane) { change(&p.PaneInfo) })
}

// Exit ends a pane's program with a status. The pane stays, dead.
func (f *Fake) Exit(ref tmux.Ref, status int) {
	f.with(ref, func(p *fakePane) { p.Dead, p.DeadStatus = true, &status })
}

// Restart ends the server with its panes and starts another one in its place.
func (f *Fake) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.panes = map[string]*fakePane{}
	f.next = 0
	f.ref.ServerPID++
	f.ref.ServerStart++
}

func (f *Fake) with(ref tmux.Ref, change func(*fakePane)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, err := f.find(ref); err == nil {
		change(p)
	}
}

// find returns the pane that ref means. The caller holds the lock.
func (f *Fake) find(ref tmux.Ref) (*fakePane, error) {
	if err := ref.Check(); err != nil {
		return nil, err
	}
	p := f.panes[ref.Pane]
	if p == nil || ref != p.Ref {
		return nil, fmt.Errorf("pane %s: %w", ref, tmux.ErrGone)
	}
	return p, nil
}

// Spawn makes a pane that runs nothing.
func (f *Fake) Spawn(ctx context.Context, spec tmux.Spec) (tmux.PaneInfo, error) {
	if err := cmp.Or(f.failure(), ctx.Err()); err != nil {
		return tmux.PaneInfo{}, err
	}
	spec, err := spec.Checked()
	if err != nil {
		return tmux.PaneInfo{}, err
	}
	pane, err := f.spawn(spec)
	if err != nil || f.OnSpawn == nil {
		return pane, err
	}
	if err := f.OnSpawn(spec, pane); err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.panes, pane.Pane)
		return tmux.PaneInfo{}, err
	}
	return f.Inspect(ctx, pane.Ref)
}

func (f *Fake) spawn(spec tmux.Spec) (tmux.PaneInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.panes {
		if p.Session == spec.Session {
			return tmux.PaneInfo{}, fmt.Errorf("session %s: %w", spec.Session, tmux.ErrExists)
		}
	}
	return f.add(tmux.PaneInfo{
		Session: spec.Session, Mark: spec.Mark, Width: spec.Width, Height: spec.Height,
		CurrentCommand: filepath.Base(spec.Argv[0]),
	}), nil
}

// Paste records the keys and the text.
func (f *Fake) Paste(ctx context.Context, ref tmux.Ref, text string, opt tmux.PasteOptions) error {
	text = tmux.Sanitize(text)
	if text == "" {
		return fmt.Errorf("pane %s: there is no text to type", ref)
	}
	inputs := slices.Concat(keys(opt.Before), []Input{{Text: text}}, keys(opt.After))
	return f.input(ctx, ref, opt, inputs)
}

// Keys records the keys.
func (f *Fake) Keys(ctx context.Context, ref tmux.Ref, pressed ...tmux.Key) error {
	return f.Press(ctx, ref, tmux.Sight{}, pressed...)
}

// Press records the keys, if the pane is as it was seen.
func (f *Fake) Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, pressed ...tmux.Key) error {
	if len(pressed) == 0 {
		return fmt.Errorf("pane %s: there are no keys to press", ref)
	}
	return f.input(ctx, ref, tmux.PasteOptions{Before: pressed, If: seen}, keys(pressed))
}

// Type records the text as it came from a keyboard.
func (f *Fake) Type(ctx context.Context, ref tmux.Ref, seen tmux.Sight, text string) error {
	if err := tmux.CheckTyped(text); err != nil {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	return f.input(ctx, ref, tmux.PasteOptions{If: seen}, []Input{{Text: text}})
}

func keys(pressed []tmux.Key) []Input {
	inputs := make([]Input, len(pressed))
	for i, key := range pressed {
		inputs[i].Key = key
	}
	return inputs
}

func (f *Fake) input(ctx context.Context, ref tmux.Ref, opt tmux.PasteOptions, inputs []Input) error {
	if err := cmp.Or(f.failure(), ctx.Err()); err != nil {
		return err
	}
	if err := opt.Check(); err != nil {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	if err := f.record(ref, opt, inputs); err != nil {
		return err
	}
	for _, in := range inputs {
		if f.OnInput != nil {
			f.OnInput(ref, in)
		} else {
			f.with(ref, func(p *fakePane) { p.cat(in) })
		}
	}
	return nil
}

// record stores the inputs of one call together, even if others type at the same time.
func (f *Fake) record(ref tmux.Ref, opt tmux.PasteOptions, inputs []Input) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.find(ref)
	if err != nil {
		return err
	}
	once, seen := opt.Once, opt.If
	if once != "" && p.once == once {
		return fmt.Errorf("pane %s: %w", ref, tmux.ErrOnce)
	}
	if seen.Mark != "" && seen.Mark != p.Mark {
		return fmt.Errorf("pane %s: %w", ref, tmux.ErrGone)
	}
	if p.Dead {
		return fmt.Errorf("pane %s: %w", ref, tmux.ErrDead)
	}
	if seen.Command != "" && seen.Command != p.CurrentCommand || seen.Row != "" && !slices.Contains(strings.Split(p.show(0), "\n"), seen.Row) {
		return fmt.Errorf("pane %s: %w", ref, tmux.ErrChanged)
	}
	if once != "" {
		p.once = once
	}
	p.InMode = false
	p.inputs = append(p.inputs, inputs...)
	return nil
}

// Capture returns what SetScreen or cat wrote.
func (f *Fake) Capture(ctx context.Context, lines int, _ bool, refs ...tmux.Ref) (map[string]string, error) {
	if err := cmp.Or(f.failure(), ctx.Err()); err != nil {
		return nil, err
	}
	if lines < 0 {
		return nil, fmt.Errorf("screen of %d lines: want 0 or more", lines)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	screens := map[string]string{}
	for _, ref := range refs {
		p, err := f.find(ref)
		if errors.Is(err, tmux.ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		screens[ref.Pane] = p.show(lines)
	}
	return screens, nil
}

// Look returns what SetScreen or cat wrote, and the name of the program.
func (f *Fake) Look(ctx context.Context, ref tmux.Ref) (tmux.View, error) {
	if err := cmp.Or(f.failure(), ctx.Err()); err != nil {
		return tmux.View{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.find(ref)
	if err != nil {
		return tmux.View{}, err
	}
	return tmux.View{Screen: p.show(0), Command: p.CurrentCommand, Title: p.Title}, nil
}

// List returns the panes in the order in which they were made.
func (f *Fake) List(ctx context.Context) ([]tmux.PaneInfo, error) {
	if err := cmp.Or(f.failure(), ctx.Err()); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	panes := make([]tmux.PaneInfo, 0, len(f.panes))
	for _, p := range f.panes {
		panes = append(panes, p.PaneInfo)
	}
	slices.SortFunc(panes, func(a, b tmux.PaneInfo) int {
		return cmp.Or(cmp.Compare(len(a.Pane), len(b.Pane)), cmp.Compare(a.Pane, b.Pane))
	})
	return panes, nil
}

// Inspect returns the description of one pane.
func (f *Fake) Inspect(ctx context.Context, ref tmux.Ref) (tmux.PaneInfo, error) {
	if err := cmp.Or(f.failure(), ctx.Err()); err != nil {
		return tmux.PaneInfo{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ref.ServerStart == 0 {
		ref.ServerStart = f.ref.ServerStart
	}
	p, err := f.find(ref)
	switch {
	case err == nil:
		return p.PaneInfo, nil
	case ref.ServerPID != f.ref.ServerPID:
		err = fmt.Errorf("%w: %w", err, tmux.ErrNoServer)
	}
	return tmux.PaneInfo{}, err
}

// KillServer removes all panes.
func (f *Fake) KillServer(context.Context) error {
	f.Restart()
	return nil
}
