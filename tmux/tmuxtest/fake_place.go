package tmuxtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/understudyd/understudy/tmux"
)

// Respawn takes the place of a pane that is dead.
func (f *Fake) Respawn(ctx context.Context, at tmux.Place, spec tmux.Spec) (tmux.PaneInfo, error) {
	if err := cmp.Or(f.failure(), ctx.Err()); err != nil {
		return tmux.PaneInfo{}, err
	}
	spec, err := spec.Checked()
	if err != nil {
		return tmux.PaneInfo{}, err
	}
	pane, err := f.respawn(at, spec)
	if err != nil || f.OnSpawn == nil {
		return pane, err
	}
	if err := f.OnSpawn(spec, pane); err != nil {
		return tmux.PaneInfo{}, err
	}
	return f.Inspect(ctx, pane.Ref)
}

func (f *Fake) respawn(at tmux.Place, spec tmux.Spec) (tmux.PaneInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.find(at.Ref)
	switch {
	case err != nil:
		return tmux.PaneInfo{}, err
	case !p.Dead || p.Mark != at.Mark || p.closed:
		p.closed = p.closed || at.Close && p.Mark == at.Mark
		return tmux.PaneInfo{}, fmt.Errorf("pane %s: %w", at.Ref, tmux.ErrChanged)
	}
	f.next++ // no process id is used twice
	info := p.PaneInfo
	info.PID, info.Dead, info.DeadStatus, info.DeadSignal, info.InMode = firstPID+f.next, false, nil, nil, false
	info.Mark, info.Session, info.CurrentCommand = spec.Mark, spec.Session, filepath.Base(spec.Argv[0])
	*p = fakePane{PaneInfo: info, screen: []string{""}, once: p.once, looked: p.looked}
	return info, nil
}

// Kill removes a pane.
func (f *Fake) Kill(ctx context.Context, ref tmux.Ref) error { return f.kill(ctx, ref, "") }

// KillMarked removes a pane that has the mark.
func (f *Fake) KillMarked(ctx context.Context, ref tmux.Ref, mark string) error {
	if mark == "" {
		return fmt.Errorf("pane %s: no mark", ref)
	}
	return f.kill(ctx, ref, mark)
}

func (f *Fake) kill(ctx context.Context, ref tmux.Ref, mark string) error {
	if err := cmp.Or(f.failure(), ctx.Err()); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.find(ref)
	if err != nil && !errors.Is(err, tmux.ErrGone) {
		return err
	}
	if err == nil && (mark == "" || p.Mark == mark) {
		delete(f.panes, ref.Pane)
	}
	return nil
}
