package tmuxtest

import (
	"context"
	"errors"
	"slices"

	"github.com/understudyd/understudy/tmux"
)

// SwitchClients moves no client: a Fake has none.
func (f *Fake) SwitchClients(context.Context, string, string) error { return f.failure() }

// ShowMessage keeps the text as if one client looked at the pane; see [Fake.Messages].
func (f *Fake) ShowMessage(_ context.Context, ref tmux.Ref, text string) (shown int, err error) {
	if err := f.failure(); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = append(f.messages, ref.Pane+": "+text)
	return 1, nil
}

// Messages returns the texts of ShowMessage, each behind its pane.
func (f *Fake) Messages() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.messages)
}

// ShowLines keeps the lines of panes at which a client looks, by [Fake.LookAt], and of those in always; see [Fake.Line].
func (f *Fake) ShowLines(_ context.Context, lines []tmux.Line, always ...tmux.Ref) (shown []tmux.Line, err error) {
	if err := f.failure(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range lines {
		p, err := f.find(l.Ref)
		if err == nil && (slices.Contains(always, l.Ref) || p.looked) {
			p.noted = l
			shown = append(shown, l)
		}
	}
	return shown, nil
}

// Say keeps the text; see [Fake.Says].
func (f *Fake) Say(_ context.Context, ref tmux.Ref, by int64, text string) error {
	return f.say(ref, func(p *fakePane) { p.by, p.says = by, text })
}

// Unsay drops the text of by.
func (f *Fake) Unsay(_ context.Context, ref tmux.Ref, by int64) error {
	err := f.say(ref, func(p *fakePane) {
		if by == 0 || p.by == by {
			p.by, p.says = 0, ""
		}
	})
	if errors.Is(err, tmux.ErrGone) {
		return nil
	}
	return err
}

func (f *Fake) say(ref tmux.Ref, change func(p *fakePane)) error {
	if err := f.failure(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.find(ref)
	if err == nil {
		change(p)
	}
	return err
}

// LookAt has a client look at a pane from now on.
func (f *Fake) LookAt(ref tmux.Ref) { f.with(ref, func(p *fakePane) { p.looked = true }) }

// Line returns the line of a pane.
func (f *Fake) Line(ref tmux.Ref) (l tmux.Line) {
	f.with(ref, func(p *fakePane) { l = p.noted })
	return l
}

// Says returns what was said on a pane; "": nothing.
func (f *Fake) Says(ref tmux.Ref) (text string) {
	f.with(ref, func(p *fakePane) { text = p.says })
	return text
}
