package scripted

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// dialog is a question that takes the composer's place. Text typed into it vanishes; Enter picks the
// selected choice, Esc is a refusal.
type dialog struct {
	title    string
	detail   string
	question string
	choices  []string
	selected int
	answer   chan int // capacity 1: the choice, or cancelled
}

// cancelled is the answer of Esc.
const cancelled = -1

func (d *dialog) lines(width int) []line {
	out := []line{{accentStyle, strings.Repeat("─", width)}, {boldStyle, clip(" "+d.title, width)}}
	if d.detail != "" {
		out = append(out, line{dimStyle, clip("   "+d.detail, width)})
	}
	out = append(out, line{}, line{plainStyle, clip(" "+d.question, width)})
	for i, choice := range d.choices {
		mark, style := "   ", plainStyle
		if i == d.selected {
			mark, style = " ❯ ", accentStyle
		}
		out = append(out, line{style, clip(fmt.Sprintf("%s%d. %s", mark, i+1, choice), width)})
	}
	return append(out, line{}, line{dimStyle, " Esc to cancel"})
}

// ask shows a dialog and waits for its answer. Meanwhile the registry says waiting for what. It
// returns cancelled when ctx ends or Esc was pressed.
func (a *agent) ask(ctx context.Context, waitingFor string, d dialog) int {
	d.answer = make(chan int, 1)
	before := a.status(func(e *registryEntry) { e.Status, e.WaitingFor = "waiting", waitingFor })
	a.setDialog(&d)
	defer func() {
		a.setDialog(nil)
		a.status(func(e *registryEntry) { e.Status, e.WaitingFor = before, "" })
	}()
	select {
	case choice := <-d.answer:
		return choice
	case <-ctx.Done():
		return cancelled
	}
}

func (a *agent) setDialog(d *dialog) {
	a.mu.Lock()
	a.dialog = d
	a.mu.Unlock()
	a.screen.setDialog(d)
}

// dialogKey gives a key to the open dialog; false when there is none.
func (a *agent) dialogKey(k key) bool {
	a.mu.Lock()
	d := a.dialog
	a.mu.Unlock()
	if d == nil {
		return false
	}
	reply := func(choice int) {
		select {
		case d.answer <- choice:
		default: // answered already
		}
	}
	switch k.kind {
	case keyEnter:
		reply(d.selected)
	case keyEsc:
		reply(cancelled)
	case keyControl:
		if k.text == "c" {
			reply(cancelled)
		}
	case keyUp:
		a.screen.update(func() { d.selected = max(d.selected-1, 0) })
	case keyDown:
		a.screen.update(func() { d.selected = min(d.selected+1, len(d.choices)-1) })
	case keyText:
		if n, err := strconv.Atoi(k.text); err == nil && n >= 1 && n <= len(d.choices) {
			reply(n - 1)
		}
	}
	return true
}
