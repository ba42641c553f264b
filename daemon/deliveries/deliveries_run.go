package deliveries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/tmux"
)

const (
	// EnterAfter is how long a confirmation may take before the daemon looks whether the text still stands in the
	// composer.
	EnterAfter = time.Second
	// paneGone is how long a pane may be gone, while the agent's process lives, before a delivery to it is not_submitted.
	paneGone = 5 * time.Second
	// LookFresh is how old a look at the screen may be when a text is typed. tmux itself compares a part of the screen with
	// that look. LookFresh limits how long the rest of the screen may change unseen.
	LookFresh = 100 * time.Millisecond
	// ShownWithin is how long the composer may take to show a typed text. After that, pressFirstEnter presses Enter if the
	// composer shows any text, because the runtime folds or scrolls a long text. But not if that is known to be another text.
	ShownWithin = 300 * time.Millisecond
)

// Deliver does the next step of an agent's next delivery. The agent's other deliveries wait for that one.
func (d *Courier) Deliver(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (moved bool, again time.Duration, err error) {
	switch {
	case !a.Active():
		return d.closeUndeliverable(ctx, a, dl)
	case dl.Kind == daemon.KindExit:
		return false, 0, nil // the stop ladder types it
	case !a.HasPane():
		return d.withoutPaneTo(ctx, a, dl)
	}
	if dl.Kind == daemon.KindGoOn && dl.State == daemon.DeliveryQueued && !wantsGoOn(a, dl) {
		dl.DecideBy(daemon.NotSubmitted, daemon.EvidenceWentOn, d.Now())
		return d.saveDelivery(ctx, a, dl, true)
	}
	if dl.State == daemon.DeliveryQueued && (daemon.WhyBusy(a) != "" || a.RegisteredAt == nil || a.StopAskedAt != nil) {
		return false, time.Second, nil
	}
	sent := dl.Way != "" && dl.Way != runtimes.ByTyping
	switch {
	case dl.State == daemon.DeliveryQueued && d.firstWay(a, dl) != runtimes.ByTyping && d.firstWay(a, dl) != runtimes.ByEcho:
		return d.beginSending(ctx, a, dl, d.firstWay(a, dl))
	case dl.State == daemon.DeliveryQueued:
		return d.beginTyping(ctx, a, dl)
	case dl.State == daemon.DeliveryTyping && sent:
		return d.resumeSending(ctx, a, dl)
	case dl.State == daemon.DeliveryTyping:
		return d.resumeTyping(ctx, a, dl)
	case dl.State == daemon.DeliveryTyped && sent:
		return d.confirmSent(ctx, a, dl)
	default:
		return d.confirmDelivery(ctx, a, dl)
	}
}

// closeUndeliverable sets the verdict of a delivery to an agent that has ended.
func (d *Courier) closeUndeliverable(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
	now := d.Now()
	switch {
	case dl.Kind == daemon.KindExit:
		dl.Decide(daemon.Submitted, "the process is gone", now)
	case dl.State == daemon.DeliveryQueued || dl.State == daemon.DeliveryTyping && dl.TypedAt == nil:
		dl.DecideBy(daemon.NotSubmitted, daemon.EvidenceEnded, now)
	case d.InTranscript(a, dl):
		dl.DecideBy(daemon.Submitted, daemon.EvidenceInTranscript, now)
	case dl.Heard != 0:
		CloseHeard(dl, refusalOf(d, a, dl), daemon.Submitted, EvidenceHeard(dl.Heard), now)
	default:
		dl.DecideBy(daemon.Unconfirmed, daemon.EvidenceEnded, now)
	}
	return d.saveDelivery(ctx, a, dl, false)
}

// beginTyping commits the intention to type a queued text for an agent at rest and types it, as soon as the composer is ready.
func (d *Courier) beginTyping(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
	screen, why, again := d.Composer(ctx, a)
	if way := d.wayAroundDraft(a, dl, why); way != "" {
		return d.beginSending(ctx, a, dl, way)
	}
	if screen != nil && d.firstWay(a, dl) == runtimes.ByEcho {
		d.IsReady(a.ID)
		return d.beginEcho(ctx, a, dl, screen)
	}
	if screen == nil {
		if s := d.Unrecognised(ctx, a); s != nil && why.Kind == daemon.HoldNotReady {
			return d.beginEcho(ctx, a, dl, s)
		}
		again, why = d.NotReady(a.ID, again, why)
		return d.SetHold(ctx, a, why, again)
	}
	d.IsReady(a.ID)
	if err := d.commitIntention(ctx, a, dl, runtimes.ByTyping); err != nil || !dl.Open() {
		return err == nil, 0, err
	}
	if time.Since(screen.At) > LookFresh { // look again: the screen may have changed during the commit
		if screen, why, _ = d.Composer(ctx, a); screen == nil {
			return d.requeue(ctx, a, dl, why.Words())
		}
	}
	return d.TypeText(ctx, a, dl, screen)
}

// commitIntention commits that a queued text is about to be given to its agent. If the text must not be given any more, it
// commits the verdict instead.
func (d *Courier) commitIntention(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, way runtimes.Way) error {
	now := d.Now()
	if dl.Kind == daemon.KindPrompt {
		if same, err := d.contextUnchanged(ctx, dl); err != nil {
			return err
		} else if !same {
			dl.DecideBy(daemon.NotSubmitted, daemon.EvidenceChanged, now)
			_, _, err := d.saveDelivery(ctx, a, dl, false)
			return err
		}
	}
	if taken, err := takenAfterAll(ctx, d, a, dl); err != nil {
		return err
	} else if taken {
		_, _, err := d.saveDelivery(ctx, a, dl, false)
		return err
	}
	dl.BeginTyping(way, a.LastHook, now)
	c := daemon.Change{Deliveries: []*daemon.Delivery{dl}}
	// If a hook, or for a message the retry of a handoff, writes the agent's row first, this commit gets ErrMoved.
	if a.Hold != nil || dl.Kind == daemon.KindGoOn || dl.Kind == daemon.KindMessage {
		a.Release()
		c.Agents = []*daemon.Agent{a}
	}
	if err := d.Commit(ctx, &c); err != nil {
		return fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	return nil
}

// resumeTyping continues a delivery whose text an earlier daemon, or an earlier attempt, may or may not have typed. It types
// only into a ready composer, because a dialog would take the Enter as its answer.
func (d *Courier) resumeTyping(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
	if a.StopAskedAt != nil {
		return false, time.Second, nil // the exit command may stand in the composer now; the agent's end decides the delivery
	}
	if can := &d.RuntimeOf(a).Can; can.StashKey == "" && d.standsInComposer(ctx, a, dl) {
		if can.EnterAfter > 0 && !lane.Ticked(ctx, time.After(can.EnterAfter)) { // the text may have been pasted a moment ago
			return false, 0, context.Cause(ctx)
		}
		dl.Pasted() // an earlier daemon died between the paste and Enter, which comes next
		return d.saveDelivery(ctx, a, dl, true)
	}
	screen, _, again := d.Composer(ctx, a)
	if screen != nil {
		return d.TypeText(ctx, a, dl, screen)
	}
	left := max(d.TimeLeft(*dl.TypedAt, d.Settings().Handoff.AckTimeout), leftHeld(d, a, dl, nil))
	if left > 0 {
		return false, min(left, max(again, 100*time.Millisecond)), nil
	}
	return d.decideByTranscript(ctx, a, dl, daemon.EvidenceBlocked)
}

// TypeText types a text and presses Enter; the intention to type it is committed already. TypeText may run again after a
// crash, because tmux refuses a token that it has seen before. tmux also refuses to type if the pane has changed since the
// look at the screen.
func (d *Courier) TypeText(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, screen *sight.Screen) (bool, time.Duration, error) {
	term, err := d.TerminalOf(a)
	if err != nil {
		return false, 0, err
	}
	if why, err := d.unwanted(ctx, a, dl); err != nil {
		return false, 0, err
	} else if why != "" {
		return d.decideByTranscript(ctx, a, dl, why)
	}
	if dl.Kind == daemon.KindExit && sight.BlocksExit(d.Sight, a, screen) != "" { // Composer has asked that for every other text
		return false, time.Second, nil
	}
	opt := tmux.PasteOptions{Once: d.onceToken(a, dl), If: screen.Sight()}
	if d.RuntimeOf(a).Can.StashKey != "" && !screen.Stashed {
		// The key puts a person's draft aside; the runtime itself brings the draft back after the submission. Press the key even if the
		// composer is empty: it does no harm, and it saves a draft that a person begins after this look. But not if a draft is aside
		// already: the key would bring that one back.
		opt.Before = []tmux.Key{tmux.CtrlS}
	}
	err = term.Paste(ctx, a.Ref(), dl.Text, opt)
	switch {
	case err == nil:
		d.NotePaste(a, dl, screen)
		if !d.pressFirstEnter(ctx, a, dl, term) {
			dl.Press(0)
		}
	case errors.Is(err, tmux.ErrChanged) && dl.Kind == daemon.KindExit:
		return false, 100 * time.Millisecond, nil // the stop ladder types the command again, or climbs
	case errors.Is(err, tmux.ErrChanged):
		return d.requeue(ctx, a, dl, err.Error())
	case errors.Is(err, tmux.ErrGone), errors.Is(err, tmux.ErrDead):
		if d.TimeSpent(*dl.TypedAt) < paneGone {
			return false, 100 * time.Millisecond, nil // wait: the process may be gone as well, and the daemon may notice that soon
		}
		dl.DecideBy(daemon.NotSubmitted, daemon.EvidencePaneGone, d.Now())
		return d.saveDelivery(ctx, a, dl, false)
	case !errors.Is(err, tmux.ErrOnce):
		return false, 0, fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	dl.State = daemon.DeliveryTyped
	return d.saveDelivery(ctx, a, dl, true)
}

// pressFirstEnter presses Enter for a text that was just pasted, as soon as the composer shows the text. It needs to see the
// composer, because a dialog that has opened meanwhile would take the Enter as its answer. It reports whether it pressed
// Enter; if it did not, confirmDelivery looks again later.
//
// For the exit command it presses Enter only if the composer shows the whole command and nothing else, because a person may have
// typed before it, or this daemon another text. The command is short enough to be shown.
func (d *Courier) pressFirstEnter(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, term engine.Terminal) (pressed bool) {
	if after := d.RuntimeOf(a).Can.EnterAfter; after > 0 && !lane.Ticked(ctx, time.After(after)) {
		return false
	}
	wait := 5 * time.Millisecond // doubled after each look, because a look costs a process
	for began := time.Now(); ; wait *= 2 {
		late := time.Since(began) > ShownWithin
		s, err := d.ReadScreen(ctx, a)
		if err == nil {
			d.noteDialogOver(a, dl, s)
		}
		if err == nil && dl.Kind == daemon.KindExit && d.busyAgain(ctx, a, s) {
			return false
		}
		blind := late && err == nil && s.Draft != "" && dl.Kind != daemon.KindExit && !d.pastedOf(a, dl).cameBack(s) && !takenSince(ctx, d, dl)
		if err == nil && s.Composer && (d.pastedOf(a, dl).stands(dl, s) || blind) && d.InFront(a) {
			if err = d.sendEnter(ctx, a, dl, term, s); !errors.Is(err, tmux.ErrChanged) {
				return true
			}
		}
		if late && err == nil {
			noteMissing(d, a, dl, s, began)
		}
		if late || !lane.Ticked(ctx, time.After(wait)) {
			return false
		}
	}
}

// onceToken returns the token by which tmux recognises a text that it has typed. The pane may be a person's, and daemons of
// several hosts may type into that pane, so the token names the host and the delivery.
//
// A text that the composer or a dialog has lost is pasted again, after another intention was committed: so its token then
// differs.
func (d *Courier) onceToken(a *daemon.Agent, dl *daemon.Delivery) string {
	token := fmt.Sprintf("%s-%d", engine.Checksum([]byte(d.Host))[:12], dl.ID)
	switch {
	case d.RuntimeOf(a).Can.LosesPastes:
		token += fmt.Sprintf("-%d", dl.TypedAt.UnixMicro())
	case dl.TypedAgain:
		token += "-again"
	}
	return token
}

// confirmDelivery waits until a hook confirms a typed text. If no hook does, it looks at other evidence. For instance, a
// message that was typed at 0 s, with ack_timeout 30 s and no hook:
//   - 1 s: the text still stands in the composer. Enter is pressed again; at most three times in all.
//   - 2 s: the composer is empty, and the transcript has the text: submitted.
//   - 31 s: a runtime that was slow to start shows the text only now. Enter was never pressed for it, and is pressed.
//   - 10 s, a dialog was open until 5 s, and no turn has begun since the text was typed: it is typed again, once.
//   - 30 s, and neither a hook nor the transcript has the text: if the text still stands in the composer, in spite of an Enter,
//     not_submitted; otherwise unconfirmed.
func (d *Courier) confirmDelivery(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
	now := d.Now()
	age := d.TimeSpent(*dl.TypedAt)
	left := d.timeLeftToTake(a, dl)
	if dl.State == daemon.DeliveryAnswered {
		switch {
		case d.InTranscript(a, dl):
			dl.Decide(daemon.Submitted, "the answer to the Stop is in the transcript", now)
		case left <= 0:
			dl.Decide(daemon.Unconfirmed, "ack_timeout: neither a Stop nor the transcript shows it", now)
		default:
			return false, min(left, 250*time.Millisecond), nil
		}
		return d.saveDelivery(ctx, a, dl, false)
	}
	if dl.Heard != 0 {
		return decideHeard(ctx, d, a, dl, left)
	}
	if next := time.Duration(dl.Attempts) * EnterAfter; age < next && left > 0 {
		return false, min(left, next-age), nil
	}
	screen, err := d.ReadScreen(ctx, a)
	if err == nil && !d.InFront(a) {
		err = errors.New(daemon.HoldBehind.Row().Says) // the pane shows another program
	}
	if err == nil {
		d.noteDialogOver(a, dl, screen)
	}
	inComposer := err == nil && screen.Composer && d.pastedOf(a, dl).stands(dl, screen)
	switch failing := sight.UnreadFor(d.Sight, a, err); {
	case err != nil:
		left = max(left, sight.Unreadable-failing) // one look that fails does not tell whether the session holds the text
	case !inComposer:
		left = max(left, leftHeld(d, a, dl, screen))
	}
	switch {
	case err == nil && d.Lost(a, dl, screen) && !d.InTranscript(a, dl):
		return d.typeAgain(ctx, a, dl, "the composer has lost it; Enter was not pressed")
	case err == nil && d.swallowed(a, dl, screen):
		return d.typeAgain(ctx, a, dl, evidenceSwallowed)
	case inComposer && (a.StopAskedAt == nil || dl.Kind == daemon.KindExit) && d.wantsEnter(a, dl, screen) && (left > 0 || dl.Attempts == 0): // see resumeTyping
		moved, again, err := d.pressEnter(ctx, a, dl, screen)
		if left > 0 {
			again = min(left, again)
		}
		return moved, again, err
	case d.InTranscript(a, dl):
		dl.DecideBy(daemon.Submitted, daemon.EvidenceInTranscript, now)
	case err == nil && commandTaken(ctx, d, a, dl, screen):
		dl.Decide(daemon.Submitted, "it left the composer; no hook confirms commands", now)
	case left > 0:
		return false, min(left, EnterAfter), nil
	case inComposer:
		dl.Decide(daemon.NotSubmitted, "ack_timeout: it still stands in the composer", now)
	default:
		dl.Decide(daemon.Unconfirmed, "ack_timeout: neither a hook, nor the screen, nor the transcript shows it", now)
	}
	return d.saveDelivery(ctx, a, dl, false)
}

// saveDelivery commits a delivery. If the delivery has a verdict and quiet is false, it commits the verdict's event as well.
func (d *Courier) saveDelivery(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, quiet bool) (bool, time.Duration, error) {
	c := daemon.Change{Deliveries: []*daemon.Delivery{dl}}
	if d.exitTypedLate(a, dl) {
		c.Agents = []*daemon.Agent{a}
	}
	if !quiet && dl.Verdict != nil {
		e := d.Event(event.Of("delivery", *dl.Verdict), &dl.AgentID, dl.HandoffID, DeliveryPayload(dl)).For(a.PipelineID, a.StepID)
		// The handoff of a delivery raises its own alert, and so does the step whose agent has ended without its prompt.
		stepTells := a.IsStepPrompt(dl) && !a.Active()
		e.Alert = *dl.Verdict != daemon.Submitted && dl.HandoffID == nil && dl.Kind != daemon.KindExit && !stepTells
		c.Events = append(c.Events, e)
		if dl.Kind == daemon.KindSkill && dl.Has(daemon.Submitted) && a.SkillInjectedAt == nil {
			a.HasSkillSince(*dl.DecidedAt)
			c.Agents = []*daemon.Agent{a}
			c.Events = append(c.Events, d.Event(event.AgentSkillInjected, &a.ID, dl.HandoffID,
				map[string]any{"persona": a.PersonaSlug(), "by": "prompt"}).For(a.PipelineID, a.StepID))
		}
		if dl.Kind == daemon.KindInstruction && dl.Has(daemon.Submitted) {
			stillRuns, err := d.turnStillRuns(ctx, a, dl)
			if err != nil {
				return false, 0, err
			}
			if stillRuns {
				a.TakeInstruction()
				c.Agents = []*daemon.Agent{a}
			}
		}
		move, err := d.confirmInstruction(ctx, dl)
		if err != nil {
			return false, 0, err
		}
		c.Move = move
	}
	if err := d.Commit(ctx, &c); err != nil {
		return false, 0, fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	d.WakeKin(a)
	return true, 0, nil
}

// confirmInstruction returns the write that marks the handoff's instruction as taken by the agent; nil: there is none to
// mark. The caller commits the write in the transaction of the delivery's verdict. A Stop may come right after that
// transaction, and it counts as the end of the instruction's turn only if the handoff is marked by then.
func (d *Courier) confirmInstruction(ctx context.Context, dl *daemon.Delivery) (*daemon.Move, error) {
	if dl.HandoffID == nil || dl.Kind != daemon.KindInstruction || !dl.Has(daemon.Submitted) {
		return nil, nil
	}
	h, err := d.Store.Handoff(ctx, *dl.HandoffID)
	if err != nil {
		return nil, fmt.Errorf("delivery %d: handoff %d: %w", dl.ID, *dl.HandoffID, err)
	}
	if !h.Open() || h.DeliveryID == nil || *h.DeliveryID != dl.ID {
		return nil, nil
	}
	h.ConfirmTaken()
	return &daemon.Move{Handoff: &h, From: h.Phase}, nil
}
