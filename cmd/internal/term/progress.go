package term

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/words"
)

// Progress prints steps as they end, each with its time. On a terminal the running one is shown
// below them; in a pipe there are only lines that stay.
type Progress struct {
	*UI
	Label string    // of the running step; empty: none
	About string    // on its line, on a terminal
	note  string    // what it waits for
	Since time.Time // when it began
	turn  int       // of the spinner
	drawn int       // lines of it on the screen
	Waits time.Time // since when there is that note
	told  bool      // of it

	Measure func(time.Duration) string // how times are written; nil: seconds
}

const (
	LabelWidth = 22
	lineWidth  = 2 + 1 + 1 + LabelWidth + 1 + 11 // of a step, without its detail
	Margin     = "      "                        // of what stands below one
)

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// Start shows a running step.
func (p *Progress) Start(label string, since time.Time) {
	if p.Label == label {
		return
	}
	p.Label, p.Since, p.About, p.note = label, since, "", ""
	p.Draw()
}

// Wait says what the running step waits for.
func (p *Progress) Wait(note string) {
	if note == p.note {
		return
	}
	p.note, p.Waits, p.told = note, time.Now(), false
	p.Draw()
}

// Patience is how long a wait lasts before a pipe is told of it.
const Patience = 1500 * time.Millisecond

// Done prints a step that has ended well.
func (p *Progress) Done(label string, took time.Duration, detail string) {
	p.Line(p.Green("✓"), label, took, detail)
}

// Failed prints a step that has not.
func (p *Progress) Failed(label string, took time.Duration, detail string) {
	p.Line(p.Red("✗"), label, took, detail)
}

func (p *Progress) Line(mark, label string, took time.Duration, detail string) {
	p.Clear()
	p.Label = ""
	line := fmt.Sprintf("  %s %-*s %11s", mark, LabelWidth, label, p.measured(took))
	detail = words.Terminal(detail)
	switch {
	case detail == "":
	case p.Terminal && lineWidth+max(utf8.RuneCountInString(label)-LabelWidth, 0)+2+utf8.RuneCountInString(detail) > p.Width():
		for _, part := range p.Below(detail) {
			line += "\n" + p.Dim(part)
		}
	default:
		line += "  " + p.Dim(detail)
	}
	p.Printf("%s\n", line)
}

func (p *Progress) measured(d time.Duration) string {
	if p.Measure != nil {
		return p.Measure(d)
	}
	return words.Took(d)
}

// Below is a text on lines of its own below a step, broken between words.
func (p *Progress) Below(text string) []string {
	lines := p.Fold(text, len(Margin)+1)
	for i := range lines {
		lines[i] = Margin + lines[i]
	}
	return lines
}

// redrawn is below for lines that are taken back: a command that is wider than the terminal is broken as
// well.
func (p *Progress) redrawn(text string) []string {
	var lines []string
	for _, line := range p.Below(text) {
		for part := range strings.SplitSeq(Wrap(line, max(p.Width()-len(Margin)-1, 20)), "\n") {
			lines = append(lines, Margin+part)
		}
	}
	return lines
}

// Waiting says that a step waits; a note may do so itself.
func Waiting(note string) string {
	if strings.HasPrefix(note, WaitsForWords) {
		return note
	}
	return "waits: " + note
}

// WaitsForWords begin a note that is a sentence.
const WaitsForWords = "waits for "

// Draw redraws the running step, on a terminal.
func (p *Progress) Draw() {
	if p.Label == "" {
		return
	}
	if !p.Terminal {
		if p.note != "" && !p.told && time.Since(p.Waits) >= Patience {
			p.told = true
			p.Printf("  … %-*s              %s\n", LabelWidth, p.Label, Waiting(p.Sentence(p.note)))
		}
		return
	}
	p.turn++
	line := fmt.Sprintf("  %c %-*s %11s", spinner[p.turn%len(spinner)], LabelWidth, p.Label, p.measured(time.Since(p.Since)))
	if p.About != "" {
		line += "  " + words.Terminal(p.About)
	}
	lines := []string{line}
	if p.note != "" {
		lines = append(lines, p.redrawn(Waiting(p.Sentence(p.note)))...)
	}
	for i := range lines { // a line that the terminal wrapped could not be taken back
		lines[i] = words.Clip(lines[i], p.Width()-1)
	}
	p.Clear()
	p.Printf("%s", strings.Join(lines, "\n"))
	p.drawn = len(lines)
}

// Idle redraws the running step while nothing happens, or says that the daemon is away.
func (p *Progress) Idle(away bool) {
	if away {
		p.Wait("the daemon is away: start it with `understudy serve`")
	}
	p.Draw()
}

// Clear takes the running step off the screen.
func (p *Progress) Clear() {
	if p.drawn == 0 {
		return
	}
	up := ""
	if p.drawn > 1 {
		up = fmt.Sprintf("\x1b[%dA", p.drawn-1)
	}
	p.Printf("\r%s\x1b[J", up)
	p.drawn = 0
}
