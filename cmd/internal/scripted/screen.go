package scripted

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon/actor"
)

// screen draws a frame into a terminal. Every method may be called from any goroutine.
type screen struct {
	mu  sync.Mutex // guards all below, and keeps frames whole
	out io.Writer
	actor.Frame
	last string
}

func (s *screen) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.draw()
}

func (s *screen) print(kind actor.BlockKind, text string) { s.update(func() { s.Print(kind, text) }) }

func (s *screen) resize(width, height int) {
	s.update(func() { s.Width, s.Height, s.last = max(width, 20), max(height, 8), "" })
}

func (s *screen) setComposer(c actor.Composer) { s.update(func() { s.Edit(c) }) }
func (s *screen) setHint(hint string)          { s.update(func() { s.Hint = hint }) }
func (s *screen) setDialog(d *actor.Dialog)    { s.update(func() { s.Dialog = d }) }
func (s *screen) setWorking(label string)      { s.update(func() { s.Working = label }) }
func (s *screen) setStatus(text string)        { s.update(func() { s.Status = statusRows(text) }) }
func (s *screen) setVisible()                  { s.update(func() { s.Visible = true }) }

// write sends control sequences of its own between frames.
func (s *screen) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.out, text) // a terminal that is gone is noticed by the reader
}

// giveUp leaves the terminal to others while they run. Nothing is drawn meanwhile: the status line may come
// from a goroutine of its own.
func (s *screen) giveUp(others func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.out, "\x1b[?2004l\x1b[2J\x1b[H")
	others()
	_, _ = io.WriteString(s.out, "\x1b[?2004h\x1b[2J")
}

// draw paints one frame in one write, if it differs from the last one.
func (s *screen) draw() {
	if s.Width == 0 {
		return
	}
	lines, row, col := s.Draw()
	var b strings.Builder
	b.WriteString("\x1b[?25l\x1b[H")
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if l.Style != "" {
			fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", l.Style, l.Text)
		} else {
			b.WriteString(l.Text)
		}
		if actor.Width(l.Text) < s.Width { // in the last column, erasing would take the last cell
			b.WriteString("\x1b[K")
		}
	}
	b.WriteString("\x1b[J")
	if s.Visible && s.Dialog == nil {
		fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[?25h", row+1, col+1)
	}
	if frame := b.String(); frame != s.last {
		s.last = frame
		_, _ = io.WriteString(s.out, frame)
	}
}
