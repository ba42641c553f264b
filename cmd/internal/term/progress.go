package term

import (
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/words"
)

// Progress prints each step with its time when the step has ended. On a terminal it draws the running step below them
// and redraws it. In a pipe it prints lines that stay.
type Progress struct {
	*UI
	Label string    // of the running step; empty if no step runs
	About string    // stands beside the label on a terminal
	Since time.Time // when the running step began
	note  string    // what the running step waits for
	waits time.Time // when the note was set
	told  bool      // the note was printed into a pipe
	turn  int       // of the spinner
	drawn int       // how many lines of the running step are on the screen
}

const (
	LabelWidth = 22
	lineWidth  = 2 + 1 + 1 + LabelWidth + 1 + 11 // of a step's line, without its detail
	Margin     = "      "                        // of the lines below a step
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

// Wait notes what the running step waits for, and draws it.
func (p *Progress) Wait(note string) {
	if note == p.note {
		return
	}
	p.note, p.waits, p.told = note, time.Now(), false
	p.Draw()
}

// patience is how long a step must wait before the note is printed into a pipe.
const patience = 1500 * time.Millisecond

// Done prints a step that has ended well.
func (p *Progress) Done(label string, took time.Duration, detail string) {
	p.Line(p.Green("✓"), label, took, detail)
}

// Failed prints a step that has failed.
func (p *Progress) Failed(label string, took time.Duration, detail string) {
	p.Line(p.Red("✗"), label, took, detail)
}

// Line prints a step that has ended, behind a mark.
func (p *Progress) Line(mark, label string, took time.Duration, detail string) {
	p.Clear()
	p.Label = ""
	line := fmt.Sprintf("  %s %s %11s", mark, labelled(label), words.Took(took))
	detail = words.Terminal(detail)
	switch {
	case detail == "":
	case p.Terminal && lineWidth+max(fit.Width(label)-LabelWidth, 0)+2+fit.Width(detail) > p.Width():
		for _, part := range p.Below(detail) {
			line += "\n" + p.Dim(part)
		}
	default:
		line += "  " + p.Dim(detail)
	}
	p.Printf("%s\n", line)
}

// labelled fills a label with blanks. A label that is too long stays whole.
func labelled(label string) string { return fit.Pad(label, max(LabelWidth, fit.Width(label))) }

// Below folds a text into lines that stand below a step.
func (p *Progress) Below(text string) []string {
	lines := p.Fold(text, len(Margin)+1)
	for i := range lines {
		lines[i] = Margin + lines[i]
	}
	return lines
}

// redrawn is Below for lines that are redrawn. It also breaks commands that are wider than the terminal. Otherwise the
// terminal would wrap such a line itself, and Clear would erase too few lines.
func (p *Progress) redrawn(text string) []string {
	var lines []string
	for _, line := range p.Below(text) {
		for _, part := range fit.FoldWithin(line, max(p.Width()-len(Margin)-1, 20)) {
			lines = append(lines, Margin+part)
		}
	}
	return lines
}

// Waiting turns a note into "waits: …", unless the note begins with WaitsForWords.
func Waiting(note string) string {
	if strings.HasPrefix(note, WaitsForWords) {
		return note
	}
	return "waits: " + note
}

// WaitsForWords begin a note that already says that the step waits.
const WaitsForWords = "waits for "

// Draw redraws the running step on a terminal. In a pipe it prints the note once, when the step has waited for patience.
func (p *Progress) Draw() {
	if p.Label == "" {
		return
	}
	if !p.Terminal {
		if p.note != "" && !p.told && time.Since(p.waits) >= patience {
			p.told = true
			p.Printf("  … %s              %s\n", labelled(p.Label), Waiting(p.Sentence(p.note)))
		}
		return
	}
	p.turn++
	line := fmt.Sprintf("  %c %s %11s", spinner[p.turn%len(spinner)], labelled(p.Label), words.Took(time.Since(p.Since)))
	if p.About != "" {
		line += "  " + words.Terminal(p.About)
	}
	lines := []string{line}
	if p.note != "" {
		lines = append(lines, p.redrawn(Waiting(p.Sentence(p.note)))...)
	}
	for i := range lines { // cut each line, because Clear could not erase a line that the terminal wrapped
		lines[i] = fit.Cut(lines[i], p.Width()-1)
	}
	p.Clear()
	p.Printf("%s", strings.Join(lines, "\n"))
	p.drawn = len(lines)
}

// Idle redraws the running step while nothing happens. If the daemon is away, it says so.
func (p *Progress) Idle(away bool) {
	if away {
		p.Wait("the daemon is away: start it with `understudy serve`")
	}
	p.Draw()
}

// Clear erases the running step from the screen.
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
