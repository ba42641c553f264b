package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

const (
	// answerDialogWithin is how old an answer to a dialog may be when its keys are pressed.
	answerDialogWithin = 10 * time.Second
	// dialogMoves is how long it may take until the screen shows that the choice is selected.
	dialogMoves = 5 * time.Second
	// dialogStands is how long a dialog is seen before the first key. Claude Code loses keys, Enter too, that come within 100 ms after
	// it has drawn a dialog of its start (seen with 2.1.329 and 2.1.330).
	dialogStands = 300 * time.Millisecond
	// keyLost is how long a dialog may take to show what an arrow key did.
	keyLost = 700 * time.Millisecond
	// keySettles is how long the selection must stand after a key that may have been lost, or may still come, before Enter is pressed.
	keySettles = time.Second
	// dialogLeaves is how long a dialog may take to go after Enter.
	dialogLeaves = 2 * time.Second
	// dialogLooks is the time between two looks meanwhile.
	dialogLooks = 25 * time.Millisecond
	// maxLabel is how much of a choice's label is kept, in runes.
	maxLabel = 300
)

// DialogChoiceRequest is what the operator answers.
type DialogChoiceRequest struct {
	Dialog string // Dialog.ID of what the operator was shown
	Choice int    // DialogChoice.Number
	From   string // where the answer comes from, for the log
	// Sender is the process that sent the answer; nil: it came over TCP.
	Sender *tmux.Peer
}

// AnswerDialog takes a choice of the dialog in an agent's pane, if that very dialog is still open. It commits the answer; the
// agent's lane presses the keys. The first answer counts. It returns what has become of it, or where it stands after some seconds.
// An agent may not answer, neither its own dialogs nor those of others.
func (d *Daemon) AnswerDialog(ctx context.Context, id int64, in DialogChoiceRequest) (DialogAnswer, error) {
	if err := d.notFromAgent(ctx, in.Sender, CodeDialogByAgent, "answer dialogs"); err != nil {
		return DialogAnswer{}, err
	}
	if _, err := d.paneHere(ctx, id); err != nil {
		return DialogAnswer{}, err
	}
	var at time.Time
	_, err := d.updateAgent(ctx, id, func(a *Agent, c *Change) error {
		s, err := d.dialogToAnswer(ctx, a, &in)
		if err != nil {
			return err
		}
		at = d.now()
		next := DialogAnswer{Dialog: s.ID, Name: s.Name, Choice: in.Choice, Label: words.Clip(s.Choices[in.Choice-1].Label, maxLabel),
			From: in.From, State: DialogAsked, At: at, Nth: 1}
		if last := a.DialogAnswer; last != nil {
			next.Nth = last.Nth + 1
		}
		a.DialogAnswer = &next
		c.Events = []*event.Event{d.dialogEvent(event.AgentDialogAnswered, a, "")}
		return nil
	})
	if err != nil {
		return DialogAnswer{}, err
	}
	return d.awaitDialogAnswer(ctx, id, in.Dialog)
}

// notFromAgent refuses what a process that is an agent, or runs inside one, must not do.
func (d *Daemon) notFromAgent(ctx context.Context, sender *tmux.Peer, code Code, what string) error {
	if sender == nil {
		return nil
	}
	around, err := d.agentOf(ctx, sender.Process)
	if err != nil {
		return err
	}
	if around != 0 {
		return Errorf(KindForbidden, code, "Agent %d may not %s: the operator does that from outside of an agent", around, what)
	}
	return nil
}

// dialogToAnswer returns the dialog that is open, if it is the one that an answer is about and the choice can be taken.
func (d *Daemon) dialogToAnswer(ctx context.Context, a *Agent, in *DialogChoiceRequest) (*shownDialog, error) {
	last := a.DialogAnswer
	if last != nil && (last.Dialog == in.Dialog || last.Open()) {
		return nil, Errorf(KindConflict, CodeDialogAnswered, "The dialog of agent %d has been answered: %s", a.ID, last.Words())
	}
	s, err := d.readDialog(ctx, a)
	if err != nil {
		return nil, err
	}
	if s.ID != in.Dialog {
		return nil, Errorf(KindConflict, CodeDialogChanged, "Agent %d shows another dialog now (%s): look at it again, `understudy agent dialog %[1]d`", a.ID, words.Quote(s.Name))
	}
	if err := d.mayAnswerDialog(ctx, a); err != nil {
		return nil, err
	}
	switch {
	case s.Why != "":
		return nil, Errorf(KindConflict, CodeDialogNotUnderstood, "The dialog of agent %d can't be answered from here, because %s", a.ID, s.Why)
	case in.Choice < 1 || in.Choice > len(s.Choices):
		return nil, Errorf(KindInvalid, CodeBadChoice, "choice must be from 1 to %d", len(s.Choices))
	case s.Choices[in.Choice-1].Input:
		return nil, Errorf(KindConflict, CodeDialogNotUnderstood, "Choice %d asks for a text: answer it in its pane, `understudy agent attach %d`", in.Choice, a.ID)
	}
	return s, nil
}

// awaitDialogAnswer waits until an answer is in a final state. After some seconds it returns the answer as it stands.
func (d *Daemon) awaitDialogAnswer(ctx context.Context, id int64, dialog string) (DialogAnswer, error) {
	until := time.Now().Add(answerDialogWithin)
	for {
		a, err := d.Store.Agent(ctx, id)
		if err != nil {
			return DialogAnswer{}, err
		}
		in := a.DialogAnswer
		if in == nil || in.Dialog != dialog {
			return DialogAnswer{}, Errorf(KindConflict, CodeDialogAnswered, "Another answer has followed: see `understudy agent show %d`", id)
		}
		if !in.Open() || time.Now().After(until) || !ticked(ctx, time.After(dialogLooks)) {
			return *in, nil
		}
	}
}

// answersDialog reports whether an answer of the operator to a dialog is under way.
func (a *Agent) answersDialog() bool { return a.DialogAnswer != nil && a.DialogAnswer.Open() }

// pressChoice takes the choice that the operator has answered. Before it presses a key it commits that, so a daemon that is killed
// meanwhile leaves a row by which the next one knows that it must not press again.
func (d *Daemon) pressChoice(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	in := *a.DialogAnswer
	switch {
	case in.State == DialogPressing:
		return d.settleUnknown(ctx, a)
	case !a.Active():
		return d.endAnswer(ctx, a, DialogNotPressed, "the agent has ended", false)
	case d.timeSpent(in.At) > answerDialogWithin:
		return d.endAnswer(ctx, a, DialogNotPressed, "the daemon was not there in time, and nothing was pressed", true)
	}
	if err := d.mayAnswerDialog(ctx, a); err != nil {
		var told *Error
		if !errors.As(err, &told) {
			return false, 0, err
		}
		return d.endAnswer(ctx, a, DialogNotPressed, words.TrimDot(told.Message), false)
	}
	in.State = DialogPressing
	a.DialogAnswer = &in
	if err := d.commit(ctx, &Change{Agents: []*Agent{a}}); err != nil {
		return false, 0, fmt.Errorf("agent %d: dialog: %w", a.ID, err)
	}
	pressed, why, err := d.takeChoice(ctx, a)
	switch {
	case err != nil && ctx.Err() != nil:
		return false, 0, err // the next daemon says that it is not known
	case err != nil:
		return d.endAnswer(ctx, a, DialogUnknown, "it is not known whether it was taken ("+words.TrimDot(err.Error())+"): look at the pane", true)
	case !pressed:
		return d.endAnswer(ctx, a, DialogNotPressed, why, false)
	}
	state, note := d.afterChoice(ctx, a)
	return d.endAnswer(ctx, a, state, note, false)
}

// takeChoice selects the choice, one row at a time, and presses Enter when the screen shows that it is selected. tmux presses each
// key only if the row that was selected is still there. pressed says that Enter was pressed; why says why it was not.
func (d *Daemon) takeChoice(ctx context.Context, a *Agent) (pressed bool, why string, err error) {
	term, err := d.terminalOf(a)
	if err != nil {
		return false, "", err
	}
	in := a.DialogAnswer
	var mv moves
	for until := time.Now().Add(dialogMoves); ; {
		s, err := d.readDialog(ctx, a)
		var told *Error
		switch {
		case errors.As(err, &told):
			return false, "the dialog is no longer open: nothing was chosen", nil
		case err != nil:
			return false, "", err
		case s.ID != in.Dialog || s.Why != "":
			return false, "the dialog has changed: nothing was chosen", nil
		}
		if key := mv.next(s.read.Selected(), in.Choice-1, time.Now()); key != 0 {
			switch err = term.Press(ctx, a.Ref(), s.sight(), key); {
			case err == nil && key == tmux.Enter:
				return true, "", nil
			case err == nil:
				mv.pressed(time.Now())
			case errors.Is(err, tmux.ErrGone) || errors.Is(err, tmux.ErrDead):
				return false, "the pane is gone: nothing was chosen", nil
			case !errors.Is(err, tmux.ErrChanged):
				return false, "", err
			}
		}
		if time.Now().After(until) {
			return false, "the dialog does not follow the arrow keys: nothing was chosen; answer it in its pane", nil
		}
		if !ticked(ctx, time.After(dialogLooks)) {
			return false, "", ctx.Err()
		}
	}
}

// moves is how a selection follows the arrow keys.
type moves struct {
	first time.Time // the first look
	at    int       // what was selected at the last look
	since time.Time // since when
	keyAt time.Time // when the last arrow key was pressed whose effect is not seen; zero: there is none
	lost  bool      // the effect of a key was not seen in time: it may still come
}

// next returns the key that is to be pressed now; 0: none yet. The first key waits until the CLI hears it. Another arrow key follows only when the effect of the last one is
// seen, or when that seems to be lost. Enter never follows a key that may still move the selection.
func (mv *moves) next(at, want int, now time.Time) tmux.Key {
	if mv.first.IsZero() {
		mv.first = now
	}
	if mv.since.IsZero() || at != mv.at {
		mv.at, mv.since, mv.keyAt = at, now, time.Time{}
	}
	if now.Sub(mv.first) < dialogStands {
		return 0
	}
	if !mv.keyAt.IsZero() {
		if now.Sub(mv.keyAt) < keyLost {
			return 0
		}
		mv.keyAt, mv.lost = time.Time{}, true
	}
	switch {
	case at < want:
		return tmux.Down
	case at > want:
		return tmux.Up
	case mv.lost && now.Sub(mv.since) < keySettles:
		return 0
	}
	return tmux.Enter
}

func (mv *moves) pressed(now time.Time) { mv.keyAt = now }

// afterChoice waits until the dialog has gone, and says what the pane shows then.
func (d *Daemon) afterChoice(ctx context.Context, a *Agent) (DialogState, string) {
	for until := time.Now().Add(dialogLeaves); ; {
		s, err := d.readDialog(ctx, a)
		var told *Error
		switch {
		case errors.As(err, &told):
			return DialogGone, "the dialog is gone"
		case err == nil && s.ID != a.DialogAnswer.Dialog:
			a.WaitsFor = words.Clip(words.Line(s.Name), maxWaitsFor)
			return DialogOther, "another dialog is open now, " + words.Quote(s.Name)
		case time.Now().After(until) && err != nil:
			return DialogUnknown, "it was taken, and then the pane could not be read"
		case time.Now().After(until), !ticked(ctx, time.After(dialogLooks)):
			return DialogStays, "it was taken, and the very same dialog is still open: look at the pane"
		}
	}
}

// settleUnknown ends an answer that an earlier daemon was about to press. It presses nothing, and says what the pane shows.
func (d *Daemon) settleUnknown(ctx context.Context, a *Agent) (bool, time.Duration, error) {
	if !a.Active() {
		return d.endAnswer(ctx, a, DialogUnknown, "the daemon was interrupted meanwhile, and the agent has ended", false)
	}
	s, err := d.readDialog(ctx, a)
	var told *Error
	switch {
	case err != nil && !errors.As(err, &told):
		return false, 0, err
	case err != nil:
		return d.endAnswer(ctx, a, DialogUnknown, "the daemon was interrupted meanwhile; the dialog is gone", false)
	case s.ID != a.DialogAnswer.Dialog:
		return d.endAnswer(ctx, a, DialogUnknown, "the daemon was interrupted meanwhile; another dialog is open now, "+words.Quote(s.Name), false)
	}
	return d.endAnswer(ctx, a, DialogUnknown, "the daemon was interrupted while it pressed the keys, and has pressed none since; the dialog is still open: look at it and answer again", true)
}

// endAnswer commits what has become of an answer. With alert the operator is told, because nobody may wait for it any more. A hook
// may have written the agent's row meanwhile.
func (d *Daemon) endAnswer(ctx context.Context, a *Agent, state DialogState, note string, alert bool) (bool, time.Duration, error) {
	next, now := *a.DialogAnswer, d.now()
	next.State, next.Note, next.EndedAt = state, note, &now
	for {
		fresh, err := d.Store.Agent(ctx, a.ID)
		if err != nil {
			return false, 0, err
		}
		if in := fresh.DialogAnswer; in == nil || in.Nth != next.Nth {
			return true, 0, nil
		}
		fresh.DialogAnswer = &next
		message := ""
		if alert {
			message = fmt.Sprintf("Agent %d (%s), dialog %s: %s. See `understudy agent dialog %[1]d`.", a.ID, a.Name, words.Quote(next.Name), next.Words())
		}
		events := []*event.Event{d.dialogEvent(event.AgentDialogEnded, &fresh, message)}
		if state == DialogOther && fresh.State == Waiting && fresh.LastHook == a.LastHook { // else its own hook has named it
			fresh.WaitsFor = a.WaitsFor
			events = append(events, d.facts().stateEvent(&fresh, map[string]any{"dialog": DialogOther}))
		}
		err = d.commit(ctx, &Change{Agents: []*Agent{&fresh}, Events: events})
		if errors.Is(err, ErrMoved) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return false, 0, fmt.Errorf("agent %d: dialog: %w", a.ID, err)
		}
		return true, 0, nil
	}
}
