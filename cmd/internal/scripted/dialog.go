package scripted

import (
	"context"
	"strconv"

	"github.com/understudyd/understudy/daemon/actor"
)

// dialog is an open dialog, with a channel for its answer.
type dialog struct {
	actor.Dialog
	answer chan int // capacity 1; gets the index of the choice, or cancelled
}

// cancelled is the answer when a person presses Esc.
const cancelled = -1

// Ask shows a dialog and returns the index of the choice. While the dialog is open, the registry has the status
// "waiting", and waitingFor. If ctx ends or a person presses Esc, Ask returns cancelled.
func (a *Agent) Ask(ctx context.Context, waitingFor string, asked actor.Dialog) int {
	d := dialog{Dialog: asked, answer: make(chan int, 1)}
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

func (a *Agent) setDialog(d *dialog) {
	a.mu.Lock()
	a.dialog = d
	a.mu.Unlock()
	var shown *actor.Dialog
	if d != nil {
		shown = &d.Dialog
	}
	a.screen.setDialog(shown)
}

// dialogKey gives a key to the open dialog. It returns false if no dialog is open.
func (a *Agent) dialogKey(k key) bool {
	a.mu.Lock()
	d := a.dialog
	a.mu.Unlock()
	if d == nil {
		return false
	}
	reply := func(choice int) {
		select {
		case d.answer <- choice:
		default: // the dialog has an answer already
		}
	}
	switch k.kind {
	case keyEnter:
		reply(d.Selected)
	case keyEsc:
		reply(cancelled)
	case keyControl:
		if k.text == "c" {
			reply(cancelled)
		}
	case keyUp:
		a.screen.update(func() { d.Selected = max(d.Selected-1, 0) })
	case keyDown:
		a.screen.update(func() { d.Selected = min(d.Selected+1, len(d.Choices)-1) })
	case keyText:
		if n, err := strconv.Atoi(k.text); err == nil && n >= 1 && n <= len(d.Choices) {
			reply(n - 1)
		}
	}
	return true
}
