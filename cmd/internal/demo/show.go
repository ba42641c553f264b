package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/words"
)

// show shows the result of a handoff: the document, the prompt, and the successor at work.
func (d *demo) show(ctx context.Context, h daemon.Handoff) error {
	document, err := d.client.Document(ctx, h.ID)
	if err != nil {
		return err
	}
	d.Printf("\n%s\n", d.Bold(fmt.Sprintf("The document that agent %d left", h.AgentID)))
	d.Block(d.excerpt(string(document), 12, false))
	d.Printf("with it, in the context file: %s\n", show.PassedOn(h.Metrics))
	d.Printf("\n%s\n", d.Bold(fmt.Sprintf("The prompt that agent %s got", term.Number(h.SuccessorID))))
	d.Block(strings.Join(fit.Fold(term.Text(h.InjectionPrompt), d.textWidth()), "\n"))
	if _, err := d.awaitTurn(ctx, *h.SuccessorID); err != nil {
		return err
	}
	screen, err := d.screen(ctx, *h.SuccessorID)
	if err != nil {
		return err
	}
	d.Printf("\n%s\n", d.Bold(fmt.Sprintf("What agent %s shows now", term.Number(h.SuccessorID))))
	d.Block(d.excerpt(screen, 16, true))
	return nil
}

// screen returns an agent's screen as soon as it no longer changes. An agent draws a little later than its hooks report.
func (d *demo) screen(ctx context.Context, id int64) (string, error) {
	last := ""
	for range 10 {
		screen, err := d.client.Screen(ctx, id, "text")
		if err != nil || screen == last {
			return screen, err
		}
		last = screen
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return last, nil
}

// textWidth returns how many columns the text of a block may take.
func (d *demo) textWidth() int {
	if !d.Terminal {
		return 110
	}
	return max(d.Width()-5, 40)
}

// excerpt returns the first lines of a text or, with tail, the last lines. No line is wider than a block.
func (d *demo) excerpt(s string, most int, tail bool) string {
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	if more := len(lines) - most; more > 0 {
		if tail {
			lines = lines[more:]
		} else {
			lines = append(lines[:most], "("+words.Count(more, "more line")+")")
		}
	}
	wide := d.textWidth()
	for i, line := range lines {
		if r := []rune(line); len(r) > wide {
			lines[i] = string(r[:wide-1]) + "…"
		}
	}
	return strings.Join(lines, "\n")
}

// next prints commands to try after the demo.
func (d *demo) next() {
	commands := d.plot.next
	if own, err := proc.OwnBinary(); err == nil && proc.BuiltByGoRun(own) {
		commands = append([]string{"go install ./cmd/..."}, commands...)
	}
	d.Printf("Next, with agents of your own:\n  %s\n", strings.Join(commands, "\n  "))
}
