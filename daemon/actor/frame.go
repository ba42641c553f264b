package actor

import (
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon/fit"
)

// BlockKind is the kind of a block. It decides how the screen shows the block.
type BlockKind int

// The kinds of blocks.
const (
	BlockUser BlockKind = iota
	BlockAnswer
	BlockTool // a tool call and, after a line break, the outcome of the call
	BlockNote
	BlockError
)

// Block is a piece of the conversation.
type Block struct {
	kind BlockKind
	text string
}

// keepBlocks is how many blocks a frame keeps: more than fit on any screen.
const keepBlocks = 400

// Frame is the content of the screen: header, conversation and composer.
type Frame struct {
	Width, Height int
	Header        []string
	Footer        string
	Composer      string
	Stashed       bool
	Status        []string // the rows of the status line; nil: there is none
	Hint          string   // shown in place of the footer; "": the footer is shown
	Working       string   // the spinner's word; "" when idle
	Beat          int
	Dialog        *Dialog
	Visible       bool // whether the composer is shown
	Strange       bool // the composer is drawn as no version that we know draws it

	blocks []Block
}

// Print adds a block to the conversation.
func (s *Frame) Print(kind BlockKind, text string) {
	s.blocks = append(s.blocks, Block{kind, text})
	if extra := len(s.blocks) - keepBlocks; extra > 0 {
		s.blocks = append(s.blocks[:0:0], s.blocks[extra:]...)
	}
}

// Edit makes the frame show the draft of a composer.
func (s *Frame) Edit(c Composer) { s.Composer, s.Stashed = c.Text, c.Stashed() }

// Draw returns the rows of the frame and the place of the cursor. The composer is right below the conversation. If the
// conversation and the composer do not fit, Draw leaves out the beginning of the conversation, not the header.
func (s *Frame) Draw() (lines []Line, row, col int) {
	bottom, row, col := s.bottom()
	room := s.Height - len(s.Header) - 1 - len(bottom)
	lines = []Line{{accentStyle, fit.Cut(s.Header[0], s.Width)}}
	for _, text := range s.Header[1:] {
		lines = append(lines, Line{dimStyle, fit.Cut(text, s.Width)})
	}
	lines = append(lines, Line{})
	lines = append(lines, s.conversation(max(room, 0))...)
	row += len(lines)
	lines = append(lines, bottom...)
	if len(lines) > s.Height {
		row -= len(lines) - s.Height
		lines = lines[len(lines)-s.Height:]
	}
	return lines, row, col
}

// Styles are parameters of SGR, the escape sequence for colours and fonts. Where no style sets a colour, the terminal
// uses its default.
const (
	plainStyle  = ""
	boldStyle   = "1"
	dimStyle    = "2"
	accentStyle = "38;5;173"
	goodStyle   = "32"
	badStyle    = "31"
)

// Line is one row of the screen. Its text is never wider than the screen.
type Line struct{ Style, Text string }

// conversation returns the last rows of the conversation, at most room.
func (s *Frame) conversation(room int) []Line {
	var chunks [][]Line
	total := 0
	for i := len(s.blocks) - 1; i >= 0 && total < room; i-- {
		chunk := append(s.blocks[i].lines(s.Width), Line{})
		total += len(chunk)
		chunks = append(chunks, chunk)
	}
	var lines []Line
	for i := len(chunks) - 1; i >= 0; i-- {
		lines = append(lines, chunks[i]...)
	}
	lines = lines[max(len(lines)-room, 0):]
	if len(lines) > 0 && lines[0].Text == "" { // the header ends with a blank row already
		lines = lines[1:]
	}
	return lines
}

func (b Block) lines(width int) []Line {
	switch b.kind {
	case BlockUser:
		return styled(boldStyle, boldStyle, "❯ ", b.text, width)
	case BlockTool:
		head, outcome, _ := strings.Cut(b.text, "\n")
		head = clipMiddle(head, width-2)
		return append(styled(goodStyle, plainStyle, "● ", head, width), styled(dimStyle, dimStyle, "  ⎿  ", outcome, width)...)
	case BlockNote:
		return styled(dimStyle, dimStyle, "  ⎿  ", b.text, width)
	case BlockError:
		return styled(badStyle, badStyle, "  ⎿  ", b.text, width)
	}
	return styled(plainStyle, plainStyle, "● ", b.text, width)
}

// styled wraps text after a mark. Rows after the first are indented by the mark's width.
func styled(first, rest, mark, text string, width int) []Line {
	indent := strings.Repeat(" ", fit.Width(mark))
	var lines []Line
	for i, row := range Wrap(text, width-len(indent)) {
		if i == 0 {
			lines = append(lines, Line{first, mark + row})
		} else {
			lines = append(lines, Line{rest, indent + row})
		}
	}
	return lines
}

// composerSign is the sign before the draft. Its blank is a no-break space, as in Claude Code; prompts in the
// conversation have an ordinary blank there.
const composerSign = "❯\u00a0"

// bottom returns the spinner and the rows below it. row and col are the cursor's place in these rows.
func (s *Frame) bottom() (lines []Line, row, col int) {
	if s.Dialog != nil {
		return s.Dialog.lines(s.Width), 0, 0
	}
	if s.Working != "" {
		marks := []rune("·✢✳✶✻✽✻✶✳✢")
		label := fmt.Sprintf("%c %s… (esc to interrupt)", marks[s.Beat%len(marks)], s.Working)
		lines = append(lines, Line{accentStyle, fit.Cut(label, s.Width)}, Line{})
	}
	if !s.Visible {
		return lines, len(lines), 0
	}
	rule, sign := Line{dimStyle, strings.Repeat("─", s.Width)}, composerSign
	if s.Strange {
		rule.Text, sign = strings.Repeat("=", s.Width), "» "
	}
	aside := ""
	if s.Stashed {
		aside = fmt.Sprintf("%*s", s.Width, "draft stashed")
	}
	lines = append(lines, Line{dimStyle, aside}, rule)
	rows := Wrap(s.Composer, s.Width-2)
	rows = rows[max(len(rows)-max(s.Height/3, 3), 0):]
	for i, text := range rows {
		if i == 0 {
			text = sign + text
		} else {
			text = "  " + text
		}
		lines = append(lines, Line{plainStyle, text})
		col = fit.Width(text)
	}
	row = len(lines) - 1
	footer := s.Footer
	if s.Hint != "" {
		footer = s.Hint
	}
	lines = append(lines, rule)
	for _, text := range s.Status {
		lines = append(lines, Line{dimStyle, fit.Cut("  "+text, s.Width)})
	}
	return append(lines, Line{dimStyle, fit.Cut("  "+footer, s.Width)}), row, min(col, s.Width-1)
}

// Dialog is a question that is shown in place of the composer. Typed text vanishes, Enter takes the selected choice,
// and Esc refuses.
type Dialog struct {
	Title    string
	Detail   string
	Question string
	Choices  []string
	Selected int
}

func (d *Dialog) lines(width int) []Line {
	out := []Line{{accentStyle, strings.Repeat("─", width)}, {boldStyle, fit.Cut(" "+d.Title, width)}}
	if d.Detail != "" {
		out = append(out, Line{dimStyle, fit.Cut("   "+d.Detail, width)})
	}
	out = append(out, Line{}, Line{plainStyle, fit.Cut(" "+d.Question, width)})
	for i, choice := range d.Choices {
		mark, style := "   ", plainStyle
		if i == d.Selected {
			mark, style = " ❯ ", accentStyle
		}
		out = append(out, Line{style, fit.Cut(fmt.Sprintf("%s%d. %s", mark, i+1, choice), width)})
	}
	return append(out, Line{}, Line{dimStyle, " Esc to cancel"})
}
