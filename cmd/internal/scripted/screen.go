package scripted

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// blockKind says how a piece of the conversation is shown.
type blockKind int

const (
	blockUser blockKind = iota
	blockAnswer
	blockTool // a tool call and, after the line break, its outcome
	blockNote
	blockError
)

type block struct {
	kind blockKind
	text string
}

// keepBlocks bounds the memory of a long session; more than fits on any screen.
const keepBlocks = 400

// screen draws header, conversation and composer. Every method may be called from any goroutine.
type screen struct {
	mu            sync.Mutex // guards all below, and keeps frames whole
	out           io.Writer
	width, height int
	header        []string
	footer        string
	blocks        []block
	composer      string
	stashed       bool
	status        []string // the rows of the status line; nil: there is none
	hint          string   // in the place of the footer
	working       string   // the spinner's word; "" when idle
	beat          int
	dialog        *dialog
	visible       bool // the composer is shown
	last          string
}

// Styles are SGR parameters; the default colours of the terminal stay.
const (
	plainStyle  = ""
	boldStyle   = "1"
	dimStyle    = "2"
	accentStyle = "38;5;173"
	goodStyle   = "32"
	badStyle    = "31"
)

// line is one row: text that is never wider than the screen.
type line struct{ style, text string }

func (s *screen) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.draw()
}

func (s *screen) print(kind blockKind, text string) {
	s.update(func() {
		s.blocks = append(s.blocks, block{kind, text})
		if extra := len(s.blocks) - keepBlocks; extra > 0 {
			s.blocks = append(s.blocks[:0:0], s.blocks[extra:]...)
		}
	})
}

func (s *screen) resize(width, height int) {
	s.update(func() { s.width, s.height, s.last = max(width, 20), max(height, 8), "" })
}

func (s *screen) setComposer(c composer) {
	s.update(func() { s.composer, s.stashed = c.text, c.stash != "" })
}

func (s *screen) setHint(hint string)     { s.update(func() { s.hint = hint }) }
func (s *screen) setDialog(d *dialog)     { s.update(func() { s.dialog = d }) }
func (s *screen) setWorking(label string) { s.update(func() { s.working = label }) }
func (s *screen) setStatus(text string)   { s.update(func() { s.status = statusRows(text) }) }
func (s *screen) setVisible()             { s.update(func() { s.visible = true }) }

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

// draw paints one frame in one write, if it differs from the last one. The composer follows the
// conversation directly; when both do not fit, the conversation's beginning makes room, not the header.
func (s *screen) draw() {
	if s.width == 0 {
		return
	}
	bottom, cursorRow, cursorCol := s.bottom()
	room := s.height - len(s.header) - 1 - len(bottom)
	lines := []line{{accentStyle, clip(s.header[0], s.width)}}
	for _, text := range s.header[1:] {
		lines = append(lines, line{dimStyle, clip(text, s.width)})
	}
	lines = append(lines, line{})
	lines = append(lines, s.conversation(max(room, 0))...)
	cursorRow += len(lines)
	lines = append(lines, bottom...)
	if len(lines) > s.height {
		cursorRow -= len(lines) - s.height
		lines = lines[len(lines)-s.height:]
	}
	var b strings.Builder
	b.WriteString("\x1b[?25l\x1b[H")
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if l.style != "" {
			fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", l.style, l.text)
		} else {
			b.WriteString(l.text)
		}
		if textWidth(l.text) < s.width { // in the last column, erasing would take the last cell
			b.WriteString("\x1b[K")
		}
	}
	b.WriteString("\x1b[J")
	if s.visible && s.dialog == nil {
		fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[?25h", cursorRow+1, cursorCol+1)
	}
	if frame := b.String(); frame != s.last {
		s.last = frame
		_, _ = io.WriteString(s.out, frame)
	}
}

// conversation is the tail of the conversation that fits into room rows.
func (s *screen) conversation(room int) []line {
	var chunks [][]line
	total := 0
	for i := len(s.blocks) - 1; i >= 0 && total < room; i-- {
		chunk := append(s.blocks[i].lines(s.width), line{})
		total += len(chunk)
		chunks = append(chunks, chunk)
	}
	var lines []line
	for i := len(chunks) - 1; i >= 0; i-- {
		lines = append(lines, chunks[i]...)
	}
	lines = lines[max(len(lines)-room, 0):]
	if len(lines) > 0 && lines[0].text == "" { // cut between two blocks: the header brings its own blank row
		lines = lines[1:]
	}
	return lines
}

func (b block) lines(width int) []line {
	switch b.kind {
	case blockUser:
		return styled(boldStyle, boldStyle, "❯ ", b.text, width)
	case blockTool:
		head, outcome, _ := strings.Cut(b.text, "\n")
		head = clipMiddle(head, width-2)
		return append(styled(goodStyle, plainStyle, "● ", head, width), styled(dimStyle, dimStyle, "  ⎿  ", outcome, width)...)
	case blockNote:
		return styled(dimStyle, dimStyle, "  ⎿  ", b.text, width)
	case blockError:
		return styled(badStyle, badStyle, "  ⎿  ", b.text, width)
	}
	return styled(plainStyle, plainStyle, "● ", b.text, width)
}

// styled wraps text behind a mark; rows after the first are indented by the mark's width.
func styled(first, rest, mark, text string, width int) []line {
	indent := strings.Repeat(" ", textWidth(mark))
	var lines []line
	for i, row := range wrap(text, width-len(indent)) {
		if i == 0 {
			lines = append(lines, line{first, mark + row})
		} else {
			lines = append(lines, line{rest, indent + row})
		}
	}
	return lines
}

// composerSign stands before the draft. As with Claude Code its blank is a no-break space, which
// tells it from a prompt in the conversation.
const composerSign = "❯\u00a0"

// bottom is the spinner and what stands below it, with the cursor's place in it.
func (s *screen) bottom() (lines []line, row, col int) {
	if s.dialog != nil {
		return s.dialog.lines(s.width), 0, 0
	}
	if s.working != "" {
		marks := []rune("·✢✳✶✻✽✻✶✳✢")
		label := fmt.Sprintf("%c %s… (esc to interrupt)", marks[s.beat%len(marks)], s.working)
		lines = append(lines, line{accentStyle, clip(label, s.width)}, line{})
	}
	if !s.visible {
		return lines, len(lines), 0
	}
	rule := line{dimStyle, strings.Repeat("─", s.width)}
	aside := ""
	if s.stashed {
		aside = fmt.Sprintf("%*s", s.width, "draft stashed")
	}
	lines = append(lines, line{dimStyle, aside}, rule)
	rows := wrap(s.composer, s.width-2)
	rows = rows[max(len(rows)-max(s.height/3, 3), 0):]
	for i, text := range rows {
		if i == 0 {
			text = composerSign + text
		} else {
			text = "  " + text
		}
		lines = append(lines, line{plainStyle, text})
		col = textWidth(text)
	}
	row = len(lines) - 1
	footer := s.footer
	if s.hint != "" {
		footer = s.hint
	}
	lines = append(lines, rule)
	for _, text := range s.status {
		lines = append(lines, line{dimStyle, clip("  "+text, s.width)})
	}
	return append(lines, line{dimStyle, clip("  "+footer, s.width)}), row, min(col, s.width-1)
}
