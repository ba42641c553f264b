package dialogs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/sight"
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
	Dialog string // the id of what the operator was shown
	Choice int    // from 1 on
	From   string // where the answer comes from, for the log
}

// AnswerDialog takes a choice of the dialog in an agent's pane, if that very dialog is still open. It commits the answer; the
// agent's lane presses the keys. The first answer counts. It returns what has become of it, or where it stands after some seconds.
func (r *Room) AnswerDialog(ctx context.Context, id int64, in DialogChoiceRequest) (daemon.DialogAnswer, error) {
	if _, err := agents.InPane(ctx, r.env, id); err != nil {
		return daemon.DialogAnswer{}, err
	}
	_, err := r.env.UpdateAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		s, err := r.dialogToAnswer(ctx, a, &in)
		if err != nil {
			return err
		}
		next := daemon.DialogAnswer{Dialog: s.ID, Name: s.Name, Choice: in.Choice, Label: words.Clip(s.Choices[in.Choice-1].Label, maxLabel),
			From: in.From, State: daemon.DialogAsked, At: r.env.Now(), Nth: 1}
		if last := a.DialogAnswer; last != nil {
			next.Nth = last.Nth + 1
		}
		a.DialogAnswer = &next
		c.Events = []*event.Event{r.dialogEvent(event.AgentDialogAnswered, a, "")}
		return nil
	})
	if err != nil {
		return daemon.DialogAnswer{}, err
	}
	return r.awaitDialogAnswer(ctx, id, in.Dialog)
}

// dialogToAnswer returns the dialog that is open, if it is the one that an answer is about and the choice can be taken.
func (r *Room) dialogToAnswer(ctx context.Context, a *daemon.Agent, in *DialogChoiceRequest) (*sight.ShownDialog, error) {
	last := a.DialogAnswer
	if last != nil && (last.Dialog == in.Dialog || last.Open()) {
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeDialogAnswered, "The dialog of agent %d has been answered: %s", a.ID, last.Words())
	}
	s, err := r.env.ReadDialog(ctx, a)
	if err != nil {
		return nil, err
	}
	if s.ID != in.Dialog {
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeDialogChanged, "Agent %d shows another dialog now (%s): look at it again, `understudy agent dialog %[1]d`", a.ID, words.Quote(s.Name))
	}
	if err := r.mayAnswerDialog(ctx, a); err != nil {
		return nil, err
	}
	switch {
	case s.Why != "":
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeDialogNotUnderstood, "The dialog of agent %d can't be answered from here, because %s", a.ID, s.Why)
	case in.Choice < 1 || in.Choice > len(s.Choices):
		return nil, daemon.Errorf(daemon.KindInvalid, daemon.CodeBadChoice, "choice must be from 1 to %d", len(s.Choices))
	case s.Choices[in.Choice-1].Input:
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeDialogNotUnderstood, "Choice %d asks for a text: answer it in its pane, `understudy agent attach %d`", in.Choice, a.ID)
	}
	return s, nil
}

// awaitDialogAnswer waits until an answer is in a final state. After some seconds it returns the answer as it stands.
func (r *Room) awaitDialogAnswer(ctx context.Context, id int64, dialog string) (daemon.DialogAnswer, error) {
	until := time.Now().Add(answerDialogWithin)
	for {
		a, err := r.store.Agent(ctx, id)
		if err != nil {
			return daemon.DialogAnswer{}, err
		}
		in := a.DialogAnswer
		if in == nil || in.Dialog != dialog {
			return daemon.DialogAnswer{}, daemon.Errorf(daemon.KindConflict, daemon.CodeDialogAnswered, "Another answer has followed: see `understudy agent show %d`", id)
		}
		if !in.Open() || time.Now().After(until) || !lane.Ticked(ctx, time.After(dialogLooks)) {
			return *in, nil
		}
	}
}

// answersDialog reports whether an answer of the operator to a dialog is under way.
func answersDialog(a *daemon.Agent) bool { return a.DialogAnswer != nil && a.DialogAnswer.Open() }

// pressChoice takes the choice that the operator has answered. Before it presses a key it commits that, so a daemon that is killed
// meanwhile leaves a row by which the next one knows that it must not press again.
func (r *Room) pressChoice(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	in := *a.DialogAnswer
	switch {
	case in.State == daemon.DialogPressing:
		return r.settleUnknown(ctx, a)
	case !a.Active():
		return r.endAnswer(ctx, a, daemon.DialogNotPressed, "the agent has ended", false)
	case r.env.TimeSpent(in.At) > answerDialogWithin:
		return r.endAnswer(ctx, a, daemon.DialogNotPressed, "the daemon was not there in time, and nothing was pressed", true)
	}
	if err := r.mayAnswerDialog(ctx, a); err != nil {
		var told *daemon.Error
		if !errors.As(err, &told) {
			return false, 0, err
		}
		return r.endAnswer(ctx, a, daemon.DialogNotPressed, words.TrimDot(told.Message), false)
	}
	in.State = daemon.DialogPressing
	a.DialogAnswer = &in
	if err := r.env.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}}); err != nil {
		return false, 0, fmt.Errorf("agent %d: dialog: %w", a.ID, err)
	}
	pressed, why, err := r.takeChoice(ctx, a)
	switch {
	case err != nil && ctx.Err() != nil:
		return false, 0, err // the next daemon says that it is not known
	case err != nil:
		return r.endAnswer(ctx, a, daemon.DialogUnknown, "it is not known whether it was taken ("+words.TrimDot(err.Error())+"): look at the pane", true)
	case !pressed:
		return r.endAnswer(ctx, a, daemon.DialogNotPressed, why, false)
	}
	state, note := r.afterChoice(ctx, a)
	return r.endAnswer(ctx, a, state, note, false)
}

// takeChoice selects the choice, one row at a time, and presses Enter when the screen shows that it is selected. tmux presses each
// key only if the row that was selected is still there. pressed says that Enter was pressed; why says why it was not.
func (r *Room) takeChoice(ctx context.Context, a *daemon.Agent) (pressed bool, why string, err error) {
	term, err := r.env.TerminalOf(a)
	if err != nil {
		return false, "", err
	}
	in := a.DialogAnswer
	var mv moves
	for until := time.Now().Add(dialogMoves); ; {
		s, err := r.env.ReadDialog(ctx, a)
		var told *daemon.Error
		switch {
		case errors.As(err, &told):
			return false, "the dialog is no longer open: nothing was chosen", nil
		case err != nil:
			return false, "", err
		case s.ID != in.Dialog || s.Why != "":
			return false, "the dialog has changed: nothing was chosen", nil
		}
		if key := mv.next(s.Selected(), in.Choice-1, time.Now()); key != 0 {
			switch err = term.Press(ctx, a.Ref(), s.Sight(), key); {
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
		if !lane.Ticked(ctx, time.After(dialogLooks)) {
			return false, "", ctx.Err()
		}
	}
}

// afterChoice waits until the dialog has gone, and says what the pane shows then.
func (r *Room) afterChoice(ctx context.Context, a *daemon.Agent) (daemon.DialogState, string) {
	for until := time.Now().Add(dialogLeaves); ; {
		s, err := r.env.ReadDialog(ctx, a)
		var told *daemon.Error
		switch {
		case errors.As(err, &told):
			return daemon.DialogGone, "the dialog is gone"
		case err == nil && s.ID != a.DialogAnswer.Dialog:
			a.Ask(s.Asks())
			return daemon.DialogOther, "another dialog is open now, " + words.Quote(s.Name)
		case time.Now().After(until) && err != nil:
			return daemon.DialogUnknown, "it was taken, and then the pane could not be read"
		case time.Now().After(until), !lane.Ticked(ctx, time.After(dialogLooks)):
			return daemon.DialogStays, "it was taken, and the very same dialog is still open: look at the pane"
		}
	}
}

// settleUnknown ends an answer that an earlier daemon was about to press. It presses nothing, and says what the pane shows.
func (r *Room) settleUnknown(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if !a.Active() {
		return r.endAnswer(ctx, a, daemon.DialogUnknown, "the daemon was interrupted meanwhile, and the agent has ended", false)
	}
	s, err := r.env.ReadDialog(ctx, a)
	var told *daemon.Error
	switch {
	case err != nil && !errors.As(err, &told):
		return false, 0, err
	case err != nil:
		return r.endAnswer(ctx, a, daemon.DialogUnknown, "the daemon was interrupted meanwhile; the dialog is gone", false)
	case s.ID != a.DialogAnswer.Dialog:
		return r.endAnswer(ctx, a, daemon.DialogUnknown, "the daemon was interrupted meanwhile; another dialog is open now, "+words.Quote(s.Name), false)
	}
	return r.endAnswer(ctx, a, daemon.DialogUnknown, "the daemon was interrupted while it pressed the keys, and has pressed none since; the dialog is still open: look at it and answer again", true)
}

// endAnswer commits what has become of an answer. With alert the operator is told, because nobody may wait for it any more. A hook
// may have written the agent's row meanwhile.
func (r *Room) endAnswer(ctx context.Context, a *daemon.Agent, state daemon.DialogState, note string, alert bool) (bool, time.Duration, error) {
	next, now := *a.DialogAnswer, r.env.Now()
	next.State, next.Note, next.EndedAt = state, note, &now
	for {
		fresh, err := r.store.Agent(ctx, a.ID)
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
		events := []*event.Event{r.dialogEvent(event.AgentDialogEnded, &fresh, message)}
		if state == daemon.DialogOther && fresh.State == daemon.Waiting && fresh.LastHook == a.LastHook { // else its own hook has named it
			fresh.Ask(a.WaitsFor)
			events = append(events, r.env.Facts().StateEvent(&fresh, map[string]any{"dialog": daemon.DialogOther}))
		}
		err = r.env.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{&fresh}, Events: events})
		if errors.Is(err, daemon.ErrMoved) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return false, 0, fmt.Errorf("agent %d: dialog: %w", a.ID, err)
		}
		return true, 0, nil
	}
}
