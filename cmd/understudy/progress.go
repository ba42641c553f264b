package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// progress prints steps as they end, each with its time. On a terminal the running one is shown
// below them; in a pipe there are only lines that stay.
type progress struct {
	*ui
	label string    // of the running step; empty: none
	note  string    // what it waits for
	since time.Time // when it began
	turn  int       // of the spinner
	drawn bool
	waits time.Time // since when there is that note
	told  bool      // of it
}

const labelWidth = 22

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// start shows a running step.
func (p *progress) start(label string, since time.Time) {
	if p.label == label {
		return
	}
	p.label, p.since, p.note = label, since, ""
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
const patience = 2 * time.Second

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
	line := fmt.Sprintf("  %s %-*s %9s", mark, labelWidth, label, seconds(took))
	if detail != "" {
		line += "  " + p.dim(printable(detail))
	}
	p.printf("%s\n", line)
}

// draw redraws the running step, on a terminal.
func (p *progress) draw() {
	if p.label == "" {
		return
	}
	if !p.terminal {
		if p.note != "" && !p.told && time.Since(p.waits) >= patience {
			p.told = true
			p.printf("  … %-*s            waits: %s\n", labelWidth, p.label, printable(p.note))
		}
		return
	}
	p.turn++
	line := fmt.Sprintf("  %c %-*s %9s", spinner[p.turn%len(spinner)], labelWidth, p.label, seconds(time.Since(p.since)))
	if p.note != "" {
		line += "  waits: " + printable(p.note)
	}
	if r := []rune(line); len(r) >= p.width() { // a wrapped line could not be taken back
		line = string(r[:p.width()-1])
	}
	p.printf("\r\x1b[K%s", line)
	p.drawn = true
}

// clear takes the running step off the screen.
func (p *progress) clear() {
	if p.drawn {
		p.printf("\r\x1b[K")
		p.drawn = false
	}
}

// watch prints the phases of a handoff as they end, those after the move numbered seq, until it
// has reached one of its ends. It returns the handoff as it is then.
func (p *progress) watch(ctx context.Context, c *api.Client, id, seq int64) (daemon.Handoff, error) {
	var h daemon.Handoff
	last := time.Time{}
	defer p.clear()
	err := await(ctx, c, func(away bool) {
		if away {
			p.wait("the daemon is away: start it with `understudy serve`")
		}
		p.draw()
	}, func(ctx context.Context) (bool, error) {
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
				p.phase(m, &h, m.At.Sub(last))
			}
			last = m.At
		}
		if !h.Open() {
			return true, nil
		}
		p.start(words(h.Phase), last)
		p.wait(h.Note)
		return false, nil
	})
	return h, err
}

// phase prints the phase that a move ended.
func (p *progress) phase(m daemon.Transition, h *daemon.Handoff, took time.Duration) {
	switch {
	case m.From == daemon.Failed:
		p.clear()
		p.printf("  %s %s\n", p.yellow("↻"), "retried: "+words(m.To))
	case m.To == daemon.Failed || m.To == daemon.Cancelled:
		p.failed(words(m.From), took, string(m.To))
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
