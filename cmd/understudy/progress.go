package main

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// progress prints steps as they end, each with its time. On a terminal the running one is shown
// below them; in a pipe there are only lines that stay.
type progress struct {
	*ui
	label string    // of the running step; empty: none
	about string    // on its line, on a terminal
	note  string    // what it waits for
	since time.Time // when it began
	turn  int       // of the spinner
	drawn int       // lines of it on the screen
	waits time.Time // since when there is that note
	told  bool      // of it

	announced bool // in a pipe, that the document is being generated

	measure func(time.Duration) string // how times are written; nil: seconds
}

const (
	labelWidth = 22
	lineWidth  = 2 + 1 + 1 + labelWidth + 1 + 9 // of a step, without its detail
	margin     = "      "                       // of what stands below one
)

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// start shows a running step.
func (p *progress) start(label string, since time.Time) {
	if p.label == label {
		return
	}
	p.label, p.since, p.about, p.note = label, since, "", ""
	p.draw()
}

// wait says what the running step waits for.
func (p *progress) wait(note string) {
	if note == p.note {
		return
	}
	p.note, p.waits, p.told = note, time.Now(), false
	p.draw()
}

// patience is how long a wait lasts before a pipe is told of it.
const patience = 1500 * time.Millisecond

// done prints a step that has ended well.
func (p *progress) done(label string, took time.Duration, detail string) {
	p.line(p.green("✓"), label, took, detail)
}

// failed prints a step that has not.
func (p *progress) failed(label string, took time.Duration, detail string) {
	p.line(p.red("✗"), label, took, detail)
}

func (p *progress) line(mark, label string, took time.Duration, detail string) {
	p.clear()
	p.label = ""
	line := fmt.Sprintf("  %s %-*s %9s", mark, labelWidth, label, p.measured(took))
	detail = printable(detail)
	switch {
	case detail == "":
	case p.terminal && lineWidth+max(utf8.RuneCountInString(label)-labelWidth, 0)+2+utf8.RuneCountInString(detail) > p.width():
		for _, part := range p.below(detail) {
			line += "\n" + p.dim(part)
		}
	default:
		line += "  " + p.dim(detail)
	}
	p.printf("%s\n", line)
}

func (p *progress) measured(d time.Duration) string {
	if p.measure != nil {
		return p.measure(d)
	}
	return seconds(d)
}

// below is a text on lines of its own below a step, broken between words.
func (p *progress) below(text string) []string {
	lines := p.fold(text, len(margin)+1)
	for i := range lines {
		lines[i] = margin + lines[i]
	}
	return lines
}

// redrawn is below for lines that are taken back: a command that is wider than the terminal is broken as
// well.
func (p *progress) redrawn(text string) []string {
	var lines []string
	for _, line := range p.below(text) {
		for part := range strings.SplitSeq(wrap(line, max(p.width()-len(margin)-1, 20)), "\n") {
			lines = append(lines, margin+part)
		}
	}
	return lines
}

// waiting says that a step waits; a note may do so itself.
func waiting(note string) string {
	if strings.HasPrefix(note, waitsForWords) {
		return note
	}
	return "waits: " + note
}

// waitsForWords begin a note that is a sentence.
const waitsForWords = "waits for "

// draw redraws the running step, on a terminal.
func (p *progress) draw() {
	if p.label == "" {
		return
	}
	if !p.terminal {
		if p.note != "" && !p.told && time.Since(p.waits) >= patience {
			p.told = true
			p.printf("  … %-*s            %s\n", labelWidth, p.label, waiting(p.sentence(p.note)))
		}
		return
	}
	p.turn++
	line := fmt.Sprintf("  %c %-*s %9s", spinner[p.turn%len(spinner)], labelWidth, p.label, p.measured(time.Since(p.since)))
	if p.about != "" {
		line += "  " + printable(p.about)
	}
	lines := []string{line}
	if p.note != "" {
		lines = append(lines, p.redrawn(waiting(p.sentence(p.note)))...)
	}
	for i := range lines { // a line that the terminal wrapped could not be taken back
		lines[i] = cut(lines[i], p.width()-1)
	}
	p.clear()
	p.printf("%s", strings.Join(lines, "\n"))
	p.drawn = len(lines)
}

// idle redraws the running step while nothing happens, or says that the daemon is away.
func (p *progress) idle(away bool) {
	if away {
		p.wait("the daemon is away: start it with `understudy serve`")
	}
	p.draw()
}

// clear takes the running step off the screen.
func (p *progress) clear() {
	if p.drawn == 0 {
		return
	}
	up := ""
	if p.drawn > 1 {
		up = fmt.Sprintf("\x1b[%dA", p.drawn-1)
	}
	p.printf("\r%s\x1b[J", up)
	p.drawn = 0
}

// watch prints the phases of a handoff as they end, those after the move numbered seq, until it
// has reached one of its ends. It returns the handoff as it is then.
func (p *progress) watch(ctx context.Context, c *api.Client, id, seq int64) (daemon.Handoff, error) {
	var h daemon.Handoff
	last := time.Time{}
	defer p.clear()
	err := await(ctx, c, p.idle, func(ctx context.Context) (bool, error) {
		var err error
		if h, err = c.Handoff(ctx, id); err != nil {
			return false, err
		}
		moves, err := c.Transitions(ctx, id)
		if err != nil {
			return false, err
		}
		if last.IsZero() {
			last = h.CreatedAt
		}
		for _, m := range moves {
			if m.Seq > seq {
				seq = m.Seq
				p.generating(&h, m.From)
				p.phase(m, &h, m.At.Sub(last))
			}
			last = m.At
		}
		if !h.Open() {
			return true, nil
		}
		p.start(p.running(&h), last)
		p.wait(strings.TrimPrefix(h.Note, generatingNote))
		return false, nil
	})
	return h, err
}

// generatingLabel is said while a fork writes the document, which can be cancelled at once.
const generatingLabel = "Generating handoff… (esc to cancel)"

// generatingNote is the daemon's note that says no more than the label.
const generatingNote = "the document is being generated"

// running names the phase that a handoff is in.
func (p *progress) running(h *daemon.Handoff) string {
	if p.generating(h, h.Phase) && p.terminal {
		return generatingLabel
	}
	return words(h.Phase)
}

// generating reports whether in a phase of a handoff the document is generated. A pipe is told of
// that once, also when it was over before anybody looked.
func (p *progress) generating(h *daemon.Handoff, phase daemon.Phase) bool {
	if h.Mode != daemon.ModeGenerate || phase != daemon.Requested && phase != daemon.Generating {
		return false
	}
	if !p.terminal && !p.announced {
		p.announced = true
		p.printf("%s\n", generatingLabel)
	}
	return true
}

// phase prints the phase that a move ended.
func (p *progress) phase(m daemon.Transition, h *daemon.Handoff, took time.Duration) {
	switch {
	case m.From == daemon.Failed:
		p.clear()
		p.printf("  %s %s\n", p.yellow("↻"), "retried: "+words(m.To))
	case m.To == daemon.Failed || m.To == daemon.Cancelled:
		p.failed(words(m.From), took, string(m.To))
	case (m.To == daemon.Instructing || m.To == daemon.Generating) && m.From != daemon.Requested: // it is asked for once more
		p.failed(words(m.From), took, m.Cause)
	default:
		p.done(words(m.From), took, phaseDetail(m, h))
	}
}

// phaseDetail says in a few words what ended a phase.
func phaseDetail(m daemon.Transition, h *daemon.Handoff) string {
	successor := "its successor"
	if h.SuccessorID != nil {
		successor = fmt.Sprintf("agent %d", *h.SuccessorID)
	}
	switch m.From {
	case daemon.Instructing:
		return fmt.Sprintf("agent %d took the instruction", h.AgentID)
	case daemon.AwaitingDocument:
		return fmt.Sprintf("agent %d ended its turn", h.AgentID)
	case daemon.Verifying:
		if m.To == daemon.Recorded {
			return h.FilePath
		}
	case daemon.ShuttingDown:
		return fmt.Sprintf("agent %d has ended", h.AgentID)
	case daemon.Spawning:
		return fmt.Sprintf("%s: %s", successor, m.Cause)
	case daemon.AwaitingRegistration:
		return successor + " has a session"
	case daemon.InjectingSkill:
		return fmt.Sprintf("%s plays %s", successor, h.Persona)
	case daemon.Briefing:
		return successor + " took the prompt"
	}
	return m.Cause
}

// words is a phase as people write it.
func words(p daemon.Phase) string { return strings.ReplaceAll(string(p), "_", " ") }
