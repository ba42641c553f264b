package tmuxtest

import (
	"strings"

	"github.com/understudyd/understudy/tmux"
)

// cat behaves as a terminal in which cat runs: the terminal shows what is typed, and cat repeats each
// complete line.
func (p *fakePane) cat(in Input) {
	if p.Dead {
		return
	}
	switch in.Key {
	case tmux.Enter:
		p.enter()
	case tmux.CtrlU:
		p.setDraft("")
	case tmux.CtrlC:
		sigint := 2
		p.Dead, p.DeadSignal = true, &sigint
	case tmux.CtrlD:
		if p.draft() == "" {
			ok := 0
			p.Dead, p.DeadStatus = true, &ok
		}
	}
	for i, line := range strings.Split(in.Text, "\n") {
		if i > 0 {
			p.enter()
		}
		p.setDraft(p.draft() + line)
	}
}

func (p *fakePane) draft() string { return p.screen[len(p.screen)-1][p.line:] }

func (p *fakePane) setDraft(text string) {
	last := &p.screen[len(p.screen)-1]
	*last = (*last)[:p.line] + text
}

func (p *fakePane) enter() {
	p.screen = append(p.screen, p.draft(), "")
	p.line = 0
}

// show returns the last lines; 0 stands for the height of the pane.
func (p *fakePane) show(lines int) string {
	screen := p.screen
	if lines == 0 {
		screen = screen[max(0, len(screen)-p.Height):]
	}
	for len(screen) > 0 && screen[len(screen)-1] == "" {
		screen = screen[:len(screen)-1]
	}
	if lines > 0 {
		screen = screen[max(0, len(screen)-lines):]
	}
	return strings.Join(screen, "\n")
}
