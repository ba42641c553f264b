package sim

import (
	"runtime"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
)

// dialog is an open question, or one that waits behind another.
type dialog struct {
	actor.Dialog
	answer   chan int
	exit     bool      // the question is whether to exit although tasks run
	limit    bool      // the question is whether to keep trying although a usage limit is reached
	chosen   int       // with limit: the answer that Enter would give
	sub      bool      // a sub-agent's: the agent itself may end its turn and begin another one
	before   string    // the status in the registry without the dialog
	shown    time.Time // since when it stands in the pane
	answered time.Time // when it was answered
}

// give answers the dialog, unless it has an answer already.
func (d *dialog) give(choice int) {
	if d.answered.IsZero() {
		d.answered = time.Now()
		d.answer <- choice
	}
}

// ask opens a dialog, waits for a person's choice and returns it, -1 for a refusal.
func (a *agent) ask(what, status string, d dialog) int { return a.askIn(what, status, newDialog(d)) }

// await opens a dialog as ask does, but keys that were typed before are lost in it, and may answer it.
func (a *agent) await(what, status string, d dialog) int {
	return a.stand(what, status, newDialog(d))
}

func newDialog(d dialog) *dialog {
	d.answer = make(chan int, 1)
	return &d
}

func (a *agent) askIn(what, status string, d *dialog) int {
	if a.dialog == nil {
		a.press() // keys that were typed before the dialog opens do not answer it
	}
	return a.stand(what, status, d)
}

// stand has a dialog stand in the pane until it is answered. Dialogs wait for each other: until the last is answered, the registry says
// that the agent waits.
func (a *agent) stand(what, status string, d *dialog) int {
	if a.dialog != nil {
		a.behind = append(a.behind, d)
		a.w.plan.count("dialog behind another")
	} else {
		d.before = a.status
		a.show(d)
		if status != "startup" {
			a.register("waiting")
		}
	}
	a.w.trace.note(a.owner.name, "asks in a dialog: %s %s", what, d.Detail)
	var choice int
	select {
	case choice = <-d.answer:
	case <-a.ended:
		runtime.Goexit()
	}
	a.do("dialog answered", 0, 5*time.Millisecond)
	if a.dialog == d {
		a.stood = append(a.stood, span{d.shown, time.Now()})
	}
	switch {
	case a.dialog != d:
		a.behind = slices.DeleteFunc(a.behind, func(other *dialog) bool { return other == d })
	case len(a.behind) > 0:
		next := a.behind[0]
		a.behind, next.before = a.behind[1:], d.before
		a.show(next)
	default:
		a.dialog = nil
		if status != "startup" {
			a.register(d.before)
		}
		a.draw()
	}
	return choice
}

// show has a dialog stand in the pane.
func (a *agent) show(d *dialog) {
	a.dialog, d.shown = d, time.Now()
	a.dialogs++
	a.draw()
}

// allowsBash is the dialog that asks for the permission to run a command.
func allowsBash(command string, sub bool) *dialog {
	return newDialog(dialog{sub: sub, Dialog: actor.Dialog{Title: "Bash", Detail: command, Question: "Do you want to proceed?", Choices: []string{"Yes", "No"}}})
}
