package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux"
)

const (
	// enterAfter is how long a typed text may take to be confirmed before the screen is asked
	// whether it still stands in the composer.
	enterAfter = time.Second
	// paneGone is how long a pane may be gone while its process still lives, before a text for it is
	// given up.
	paneGone = 5 * time.Second
	// maxEnters is how often Enter is pressed for one text.
	maxEnters = 3
	// lookFresh is how old a look at the screen may be when a text is typed. What can't be compared by
	// tmux itself must not have changed meanwhile.
	lookFresh = 100 * time.Millisecond
	// shownWithin is how long a typed text may take to stand in the composer before Enter is pressed all
	// the same, if anything stands there: a long text is folded, or scrolled.
	shownWithin = 300 * time.Millisecond
)

// deliver does what is due for the oldest open delivery of an agent; the others wait for it.
func (d *Daemon) deliver(ctx context.Context, a *Agent, dl *Delivery) (moved bool, again time.Duration, err error) {
	switch {
	case !a.Active():
		return d.closeUndeliverable(ctx, a, dl)
	case dl.Kind == KindExit:
		return false, 0, nil // the stop ladder's own
	case !a.HasPane():
		dl.decide(NotSubmitted, "the agent has no pane", d.now())
		return d.saveDelivery(ctx, a, dl, false)
	}
	switch dl.State {
	case DeliveryQueued:
		return d.beginTyping(ctx, a, dl)
	case DeliveryTyping:
		return d.resumeTyping(ctx, a, dl)
	default:
		return d.confirmDelivery(ctx, a, dl)
	}
}

// closeUndeliverable closes a delivery to an agent that has ended.
func (d *Daemon) closeUndeliverable(ctx context.Context, a *Agent, dl *Delivery) (bool, time.Duration, error) {
	now := d.now()
	switch {
	case dl.Kind == KindExit:
		dl.decide(Submitted, "the process is gone", now)
	case dl.State == DeliveryQueued || dl.State == DeliveryTyping && dl.TypedAt == nil:
		dl.decide(NotSubmitted, "the agent ended", now)
	case d.inTranscript(a, dl):
		dl.decide(Submitted, "found in the transcript", now)
	default:
		dl.decide(Unconfirmed, "the agent ended", now)
	}
	return d.saveDelivery(ctx, a, dl, false)
}

// beginTyping types a queued text once the agent is idle and its composer ready. The intention is
// committed first.
func (d *Daemon) beginTyping(ctx context.Context, a *Agent, dl *Delivery) (bool, time.Duration, error) {
	if a.State != Idle || a.RegisteredAt == nil || a.StopAskedAt != nil {
		return false, time.Second, nil
	}
	screen, why, again := d.composer(ctx, a)
	if screen == nil {
		again, why = d.notReady(a.ID, again, why)
		return d.setNote(ctx, a, why, again)
	}
	d.isReady(a.ID)
	now := d.now()
	if dl.Kind == KindPrompt {
		if same, err := d.contextUnchanged(ctx, dl); err != nil {
			return false, 0, err
		} else if !same {
			dl.decide(NotSubmitted, evidenceChanged, now)
			return d.saveDelivery(ctx, a, dl, false)
		}
	}
	if taken, err := d.takenAfterAll(ctx, a, dl); err != nil {
		return false, 0, err
	} else if taken {
		dl.decide(Submitted, "taken from the command line after all", now)
		return d.saveDelivery(ctx, a, dl, false)
	}
	dl.State, dl.TypedAt, dl.AfterHook, dl.Attempts, dl.Evidence = DeliveryTyping, &now, a.LastHook, 1, ""
	c := Change{Deliveries: []*Delivery{dl}}
	if a.Note != "" || a.startedWith(dl) { // a prompt that is taken meanwhile writes the agent's row: then look again
		a.Note = ""
		c.Agents = []*Agent{a}
	}
	if err := d.commit(ctx, &c); err != nil {
		return false, 0, fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	if time.Since(screen.at) > lookFresh { // the commit took its time
		if screen, why, _ = d.composer(ctx, a); screen == nil {
			return d.requeue(ctx, a, dl, cmp.Or(why, noteTurn))
		}
	}
	return d.typeText(ctx, a, dl, screen)
}

// requeue has a text wait again that was not typed, because what would have taken it had changed.
func (d *Daemon) requeue(ctx context.Context, a *Agent, dl *Delivery, why string) (bool, time.Duration, error) {
	dl.State, dl.TypedAt, dl.Attempts, dl.Evidence = DeliveryQueued, nil, 0, why
	_, _, err := d.saveDelivery(ctx, a, dl, true)
	return false, 100 * time.Millisecond, err
}

// evidenceChanged is why an injection prompt is not typed.
const evidenceChanged = "the context file was changed before it was delivered"

// contextUnchanged reports whether the context file that a prompt points to is the one recorded.
func (d *Daemon) contextUnchanged(ctx context.Context, dl *Delivery) (bool, error) {
	h, err := d.Store.Handoff(ctx, *dl.HandoffID)
	if err != nil {
		return false, fmt.Errorf("delivery %d: handoff %d: %w", dl.ID, *dl.HandoffID, err)
	}
	return d.contextIntact(&h), nil
}

// setNote makes visible why nothing is typed to an agent.
func (d *Daemon) setNote(ctx context.Context, a *Agent, why string, again time.Duration) (bool, time.Duration, error) {
	if why == a.Note {
		return false, again, nil
	}
	a.Note = why
	if err := d.commit(ctx, &Change{Agents: []*Agent{a}}); err != nil {
		return false, 0, fmt.Errorf("agent %d: note: %w", a.ID, err)
	}
	return true, 0, nil
}

// resumeTyping goes on with a text that an earlier daemon, or an earlier attempt, may or may not
// have typed. As ever, nothing is typed unless the composer is there to take it: a dialog would
// take the Enter for its answer.
func (d *Daemon) resumeTyping(ctx context.Context, a *Agent, dl *Delivery) (bool, time.Duration, error) {
	if a.StopAskedAt != nil {
		return false, time.Second, nil // the exit command may have been typed since: evidence decides when it is gone
	}
	now := d.now()
	screen, _, again := d.composer(ctx, a)
	if screen != nil {
		return d.typeText(ctx, a, dl, screen)
	}
	if left := d.timeLeft(*dl.TypedAt, d.Settings.Handoff.AckTimeout); left > 0 {
		return false, min(left, max(again, 100*time.Millisecond)), nil
	}
	if d.inTranscript(a, dl) {
		dl.decide(Submitted, "found in the transcript", now)
	} else {
		dl.decide(Unconfirmed, "ack_timeout: it is not known whether it was typed, and the composer takes nothing now", now)
	}
	return d.saveDelivery(ctx, a, dl, false)
}

// typeText types a text whose intention is committed, and then presses Enter. tmux itself refuses a token
// that it has seen, so that this can be run again after a crash, and a pane that is not as it was seen.
func (d *Daemon) typeText(ctx context.Context, a *Agent, dl *Delivery, screen *screen) (bool, time.Duration, error) {
	term, err := d.terminalOf(a)
	if err != nil {
		return false, 0, err
	}
	if dl.Kind == KindInstruction {
		if wanted, err := d.instructionWanted(ctx, dl); err != nil {
			return false, 0, err
		} else if !wanted {
			return d.closeUnwanted(ctx, a, dl)
		}
	}
	opt := tmux.PasteOptions{Once: d.onceToken(dl), If: screen.sight()}
	stash, err := screen.CanType()
	if err != nil {
		return false, time.Second, nil
	}
	if stash {
		opt.Before = []tmux.Key{tmux.CtrlS} // puts a person's draft aside; it comes back by itself
	}
	err = term.Paste(ctx, a.Ref(), dl.Text, opt)
	switch {
	case err == nil:
		if !d.pressFirstEnter(ctx, a, dl, term) {
			dl.Attempts = 0
		}
	case errors.Is(err, tmux.ErrChanged) && dl.Kind == KindExit:
		return false, 100 * time.Millisecond, nil // the stop ladder tries again, or goes on
	case errors.Is(err, tmux.ErrChanged):
		return d.requeue(ctx, a, dl, err.Error())
	case errors.Is(err, tmux.ErrGone), errors.Is(err, tmux.ErrDead):
		if d.timeSpent(*dl.TypedAt) < paneGone {
			return false, 100 * time.Millisecond, nil // its process is about to be noticed to be gone, too
		}
		dl.decide(NotSubmitted, "the pane is gone", d.now())
		return d.saveDelivery(ctx, a, dl, false)
	case !errors.Is(err, tmux.ErrOnce):
		return false, 0, fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	dl.State = DeliveryTyped
	return d.saveDelivery(ctx, a, dl, true)
}

// pressFirstEnter presses Enter for a text that was just pasted, once the composer shows it: whatever has opened
// since would take the Enter for an answer. If the text is not seen, Enter is not pressed, and the confirmation looks
// again. The exit command is short enough to be seen: as long as it is not, keys of a person may come before it.
func (d *Daemon) pressFirstEnter(ctx context.Context, a *Agent, dl *Delivery, term Terminal) (pressed bool) {
	wait := 5 * time.Millisecond // and twice as long each time: a look costs a process
	for until := time.Now().Add(shownWithin); ; wait *= 2 {
		late := time.Now().After(until)
		s, err := d.readScreen(ctx, a)
		if err == nil && dl.Kind == KindExit && d.busyAgain(ctx, a, s) {
			return false
		}
		if err == nil && s.Composer && (s.Holds(dl.Text) || late && s.Draft != "" && dl.Kind != KindExit) && d.inFront(a) {
			if err = d.sendEnter(ctx, a, dl, term, s); !errors.Is(err, tmux.ErrChanged) {
				return true
			}
		}
		if late || !ticked(ctx, time.After(wait)) {
			return false
		}
	}
}

// onceToken names a delivery among all that may ever be typed into a pane, which may be a person's
// and known to more than one daemon.
func (d *Daemon) onceToken(dl *Delivery) string {
	return fmt.Sprintf("%s-%d", checksum([]byte(d.Host))[:12], dl.ID)
}

// confirmDelivery waits for the runtime's confirmation, which a hook brings; it looks at other
// evidence when that does not come.
func (d *Daemon) confirmDelivery(ctx context.Context, a *Agent, dl *Delivery) (bool, time.Duration, error) {
	now := d.now()
	age := d.timeSpent(*dl.TypedAt)
	left := d.timeLeftToTake(a, dl)
	if dl.State == DeliveryAnswered {
		switch {
		case d.inTranscript(a, dl):
			dl.decide(Submitted, "the answer to the Stop is in the transcript", now)
		case left <= 0:
			dl.decide(Unconfirmed, "ack_timeout: neither a Stop nor the transcript shows it", now)
		default:
			return false, min(left, 250*time.Millisecond), nil
		}
		return d.saveDelivery(ctx, a, dl, false)
	}
	if next := time.Duration(dl.Attempts) * enterAfter; age < next && left > 0 {
		return false, min(left, next-age), nil
	}
	screen, err := d.readScreen(ctx, a)
	if err == nil && !d.inFront(a) {
		err = errors.New(noteBehind) // what the pane shows is no longer the agent's
	}
	inComposer := err == nil && screen.Composer && screen.Holds(dl.Text)
	switch {
	case inComposer && d.wantsEnter(a, dl, screen) && left > 0:
		moved, again, err := d.pressEnter(ctx, a, dl, screen)
		return moved, min(left, again), err
	case d.inTranscript(a, dl):
		dl.decide(Submitted, "found in the transcript", now)
	case dl.Kind == KindCommand && err == nil && !inComposer:
		dl.decide(Submitted, "it left the composer; commands are not confirmed otherwise", now)
	case left > 0:
		return false, min(left, enterAfter), nil
	case inComposer:
		dl.decide(NotSubmitted, "ack_timeout: it still stands in the composer", now)
	default:
		dl.decide(Unconfirmed, "ack_timeout: neither a hook, nor the screen, nor the transcript shows it", now)
	}
	return d.saveDelivery(ctx, a, dl, false)
}

// saveDelivery commits a delivery that changed, with its event; quiet: without.
func (d *Daemon) saveDelivery(ctx context.Context, a *Agent, dl *Delivery, quiet bool) (bool, time.Duration, error) {
	c := Change{Deliveries: []*Delivery{dl}}
	if d.exitTypedLate(a, dl) {
		c.Agents = []*Agent{a}
	}
	if !quiet && dl.Verdict != nil {
		e := d.event(event.Of("delivery", *dl.Verdict), &dl.AgentID, dl.HandoffID, deliveryPayload(dl)).For(a.PipelineID, a.StepID)
		// A handoff that depends on it raises its own alert.
		e.Alert = *dl.Verdict != Submitted && dl.HandoffID == nil && dl.Kind != KindExit
		c.Events = append(c.Events, e)
		if dl.Kind == KindSkill && dl.has(Submitted) && a.SkillInjectedAt == nil {
			a.SkillInjectedAt = dl.DecidedAt
			c.Agents = []*Agent{a}
			c.Events = append(c.Events, d.event(event.AgentSkillInjected, &a.ID, dl.HandoffID,
				map[string]any{"persona": a.PersonaSlug(), "by": "prompt"}).For(a.PipelineID, a.StepID))
		}
		if dl.Kind == KindInstruction && dl.has(Submitted) {
			runs, err := d.turnStillRuns(ctx, a, dl)
			if err != nil {
				return false, 0, err
			}
			if runs {
				a.takeInstruction()
				c.Agents = []*Agent{a}
			}
		}
		move, err := d.confirmInstruction(ctx, dl)
		if err != nil {
			return false, 0, err
		}
		c.Move = move
	}
	if err := d.commit(ctx, &c); err != nil {
		return false, 0, fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	d.wakeKin(a)
	return true, 0, nil
}

// turnStillRuns reports whether the turn of a text that was taken has not ended. The agent's state alone does not
// tell: no hook has told of the turn's begin, and it takes a while until the registry is believed.
func (d *Daemon) turnStillRuns(ctx context.Context, a *Agent, dl *Delivery) (bool, error) {
	if a.State == Working || a.LastStop == 0 || dl.TypedAt == nil {
		return true, nil
	}
	last, err := d.Store.StoredHook(ctx, a.LastStop)
	if err != nil {
		return false, fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	// A text is noted as typed before it is: what came in the same instant was there before it.
	return !d.cameAfter(a.LastStop, last.ReceivedAt, dl), nil
}

// confirmInstruction notes on the handoff that its instruction was taken. That goes into the transaction of
// the verdict: a Stop that comes right after it must count.
func (d *Daemon) confirmInstruction(ctx context.Context, dl *Delivery) (*Move, error) {
	if dl.HandoffID == nil || dl.Kind != KindInstruction || !dl.has(Submitted) {
		return nil, nil
	}
	h, err := d.Store.Handoff(ctx, *dl.HandoffID)
	if err != nil {
		return nil, fmt.Errorf("delivery %d: handoff %d: %w", dl.ID, *dl.HandoffID, err)
	}
	if !h.Open() || h.DeliveryID == nil || *h.DeliveryID != dl.ID {
		return nil, nil
	}
	h.confirmTaken()
	return &Move{Handoff: &h, From: h.Phase}, nil
}

// wakeKin wakes those that may wait for what an agent just did: the handoff of its predecessor, and its
// run.
func (d *Daemon) wakeKin(a *Agent) {
	if a.PreviousAgentID != nil {
		d.Wake(*a.PreviousAgentID)
	}
	if a.PipelineID != nil {
		d.Wake(-*a.PipelineID)
	}
}

func deliveryPayload(dl *Delivery) map[string]any {
	p := map[string]any{"delivery_id": dl.ID, "kind": dl.Kind, "attempts": dl.Attempts, "evidence": dl.Evidence}
	if dl.Verdict != nil && *dl.Verdict != Submitted {
		p["message"] = fmt.Sprintf("A text for agent %d was not confirmed (%s); look at its pane with `understudy agent attach %d`, and send it again if it is not there.",
			dl.AgentID, dl.Evidence, dl.AgentID)
	}
	return p
}
