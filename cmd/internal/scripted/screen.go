package scripted

import (
	"context"
	"sync"

	"github.com/understudyd/understudy/daemon/actor"
)

// screen draws a frame into a terminal. Every method may be called from any goroutine.
type screen struct {
	mu       sync.Mutex // guards all fields below, and keeps frames in order
	terminal Terminal
	alive    context.Context
	actor.Frame
	title string
	anew  bool // the next frame is drawn even if it equals the previous one
}

func (s *screen) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.draw()
}

func (s *screen) print(kind actor.BlockKind, text string) { s.update(func() { s.Print(kind, text) }) }

func (s *screen) resize(width, height int) {
	s.update(func() { s.Width, s.Height, s.anew = max(width, 20), max(height, 8), true })
}

func (s *screen) setComposer(c actor.Composer) { s.update(func() { s.Edit(c) }) }
func (s *screen) setHint(hint string)          { s.update(func() { s.Hint = hint }) }
func (s *screen) setDialog(d *actor.Dialog)    { s.update(func() { s.Dialog = d }) }
func (s *screen) setWorking(label string)      { s.update(func() { s.Working = label }) }
func (s *screen) setStatus(text string)        { s.update(func() { s.Status = statusRows(text) }) }
func (s *screen) setTitle(title string)        { s.update(func() { s.title = title }) }
func (s *screen) setVisible()                  { s.update(func() { s.Visible = true }) }

// suspend gives the terminal to other programs until the agent is resumed. It holds the lock, so that nothing is drawn
// meanwhile: the status line may come from another goroutine.
func (s *screen) suspend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminal.Suspend()
}

func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alive.Err() == nil {
		s.terminal.Close()
	}
}

// draw shows one frame.
func (s *screen) draw() {
	if s.Width == 0 || s.alive.Err() != nil {
		return
	}
	lines, row, col := s.Draw()
	s.terminal.Draw(Frame{
		Width: s.Width, Lines: lines, Row: row, Col: col, Cursor: s.Visible && s.Dialog == nil, Title: s.title, Anew: s.anew,
	})
	s.anew = false
}
