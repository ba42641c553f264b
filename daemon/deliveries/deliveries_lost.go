package deliveries

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/hooks"
)

// A text may be lost between tmux and the agent: a composer that is just drawn anew drops it, and a dialog that opens behind
// the guard's back swallows it, or takes its Enter for an answer. Such a text is typed again, once, under the same delivery, if
// it is known that the runtime has not taken it. If it is not known, ack_timeout decides.

// LostAfter is how long after a paste, or after a dialog over it, an empty composer shows that the paste is lost.
const LostAfter = 5 * time.Second

// evidenceSwallowed is the evidence of a text that is typed again after a dialog.
const evidenceSwallowed = "a dialog opened while it was typed, and the agent has taken no prompt since"

// pasted is what a daemon knows of the paste of a text.
type pasted struct {
	delivery int64
	at       time.Time // when this daemon pasted it; zero: an earlier daemon did
	dialog   time.Time // when a dialog was seen over the text last; zero: none was
	missing  bool      // the composer was empty right after the paste: nobody can have submitted the text from there
	aside    string    // the draft that stood in the composer before the paste, and was put aside for it; "": there was none
}

// cameBack reports whether the composer shows the draft that was put aside for the text: the runtime brings it back when somebody has
// submitted the text. An Enter would submit the draft, even if a part of it is the same text.
func (p pasted) cameBack(s *sight.Screen) bool {
	return p.aside != "" && s.Draft == p.aside && !s.Stashed
}

// stands reports whether the composer shows the text. As long as the draft is aside, whatever the composer shows is the text, perhaps folded.
// The exit command must stand there alone: behind another text, which the composer may show later than it was typed, it would be a prompt.
func (p pasted) stands(dl *daemon.Delivery, s *sight.Screen) bool {
	if dl.Kind == daemon.KindExit {
		return !p.cameBack(s) && s.HoldsOnly(dl.Text, false)
	}
	folded := p.aside != "" && s.Stashed && s.Draft != "" && dl.Attempts == 0
	return !p.cameBack(s) && (folded || s.Holds(dl.Text))
}

// pastedOf returns what this daemon knows of a paste.
func (d *Courier) pastedOf(a *daemon.Agent, dl *daemon.Delivery) pasted {
	if p := d.memories.Of(a.ID).pasted; p.delivery == dl.ID {
		return p
	}
	return pasted{delivery: dl.ID}
}

// Lost reports whether the composer has lost a pasted text for which Enter was never pressed, so that it may be pasted again. The
// intention to type may be much older than the paste: tmux may have been slow.
func (d *Courier) Lost(a *daemon.Agent, dl *daemon.Delivery, s *sight.Screen) bool {
	return d.RuntimeOf(a).Can.LosesPastes && dl.Attempts == 0 && mayComeAgain(dl) && !turnSince(a, dl) &&
		a.AtRest() && s.Empty() && time.Since(d.pastedOf(a, dl).at) >= LostAfter && d.TimeLeft(*dl.TypedAt, LostAfter) <= 0
}

// swallowed reports whether a dialog has swallowed a typed text, or its Enter, and the runtime is known not to have taken the
// text. Only a dialog that was seen over the text counts: whatever closed it came behind the text, so the runtime has read the
// text by now. Hooks, the registry and the transcript must all show that no turn has begun since.
func (d *Courier) swallowed(a *daemon.Agent, dl *daemon.Delivery, s *sight.Screen) bool {
	rt, over := d.RuntimeOf(a), d.pastedOf(a, dl).dialog
	switch {
	case !mayComeAgain(dl) || dl.Kind == daemon.KindCommand || over.IsZero() || time.Since(over) < LostAfter || leftHeld(d, a, dl, s) > 0:
		return false
	case !a.AtRest() || a.StopAskedAt != nil || !s.Empty() || s.Stashed || turnSince(a, dl):
		return false
	case rt.Registry != nil && !d.QuietFor(a.ID, LostAfter):
		return false
	}
	if waiting, err := d.Spool.Len(); err != nil || waiting > 0 {
		return false // a hook that waits there may report the prompt
	}
	return d.transcriptLacks(a, dl)
}

// transcriptLacks reports whether an agent's transcript can be read and shows no prompt since a text was typed. A runtime makes
// the file with the first prompt.
func (d *Courier) transcriptLacks(a *daemon.Agent, dl *daemon.Delivery) bool {
	if a.TranscriptPath == nil {
		return false
	}
	if _, err := os.Stat(*a.TranscriptPath); errors.Is(err, fs.ErrNotExist) {
		return a.LastPrompt == 0 && a.LastStop == 0
	}
	return len(sight.TranscriptTail(a)) > 0 && !d.InTranscript(a, dl) && !d.PromptedAfter(a, "", *dl.TypedAt)
}

// NotePaste notes that a text was pasted a moment ago. before is the screen before that.
func (d *Courier) NotePaste(a *daemon.Agent, dl *daemon.Delivery, before *sight.Screen) {
	d.memories.Change(a.ID, func(m *courierMemory) { m.pasted = pasted{delivery: dl.ID, at: time.Now(), aside: before.Draft} })
}

// noteMissing notes that a look has shown an empty composer although a text was pasted at began. A look that comes late tells nothing: a
// person may have submitted the text meanwhile.
func noteMissing(d *Courier, a *daemon.Agent, dl *daemon.Delivery, s *sight.Screen, began time.Time) {
	if p := d.pastedOf(a, dl); s.Empty() && time.Since(began) < 2*ShownWithin {
		p.missing = true
		d.memories.Change(a.ID, func(m *courierMemory) { m.pasted = p })
	}
}

// noteDialogOver notes that a look at the pane has seen a dialog over a text that was typed. What the registry says counts only
// if it says so since the paste: a dialog that was answered before it has swallowed nothing.
func (d *Courier) noteDialogOver(a *daemon.Agent, dl *daemon.Delivery, s *sight.Screen) {
	p, registry := d.pastedOf(a, dl), d.Sighted(a.ID)
	waits := registry.Status == runtimes.StatusWaiting && !p.at.IsZero() && registry.Since.After(p.at)
	if s.Dialog == "" && !waits {
		return
	}
	p.dialog = time.Now()
	d.memories.Change(a.ID, func(m *courierMemory) { m.pasted = p })
}

// timeLeftOver returns how long the daemon waits for a text over which a dialog was seen: as long as the dialog is open, but at
// most OpeningLimit, and then until it is known whether the dialog has swallowed the text. The deadlines of a handoff are not
// put off.
func (d *Courier) timeLeftOver(a *daemon.Agent, dl *daemon.Delivery) time.Duration {
	over := d.pastedOf(a, dl).dialog
	if over.IsZero() || dl.HandoffID != nil || !mayComeAgain(dl) || turnSince(a, dl) {
		return 0
	}
	return min(LostAfter+2*EnterAfter-time.Since(over), d.TimeLeft(*dl.TypedAt, OpeningLimit))
}

// typeAgain queues a text that was lost once more.
func (d *Courier) typeAgain(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, why string) (bool, time.Duration, error) {
	dl.Unsend(why)
	dl.TypedAgain = true
	e := d.Event(event.DeliveryTypedAgain, &a.ID, dl.HandoffID, map[string]any{"delivery_id": dl.ID, "kind": dl.Kind, "evidence": why})
	if err := d.Commit(ctx, &daemon.Change{Deliveries: []*daemon.Delivery{dl}, Events: []*event.Event{e.For(a.PipelineID, a.StepID)}}); err != nil {
		return false, 0, fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	d.WakeKin(a)
	return true, 0, nil
}

// requeue sets a delivery back to DeliveryQueued. Its text was not typed, because the pane had changed.
func (d *Courier) requeue(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, why string) (bool, time.Duration, error) {
	dl.Unsend(why)
	_, _, err := d.saveDelivery(ctx, a, dl, true)
	return false, 100 * time.Millisecond, err
}

// takenAfterAll gives a text its verdict if its agent has taken an earlier delivery of it that was given up: the injection prompt of a handoff
// that was retried, or the prompt of a step that was queued once more. It reports whether it has.
func takenAfterAll(ctx context.Context, d *Courier, a *daemon.Agent, dl *daemon.Delivery) (bool, error) {
	step := a.IsStepPrompt(dl)
	if step {
		last, _, err := d.LastPrompt(ctx, a)
		if err != nil {
			return false, fmt.Errorf("delivery %d: %w", dl.ID, err)
		}
		if runtimes.MatchesPrompt(last, dl.Text) {
			all, err := d.Store.Deliveries(ctx, a.ID, 0, 500)
			if err != nil {
				return false, fmt.Errorf("delivery %d: %w", dl.ID, err)
			}
			if !slices.ContainsFunc(all, func(b daemon.Delivery) bool { return b.Heard == a.LastPrompt && b.Has(daemon.NotSubmitted) }) {
				dl.Decide(daemon.Submitted, EvidenceHeard(a.LastPrompt), d.Now())
				return true, nil
			}
		}
	}
	if dl.Kind == daemon.KindPrompt && d.InTranscript(a, dl) ||
		step && a.PreviousAgentID == nil && d.RuntimeOf(a).TranscriptHolds(sight.TranscriptTail(a), dl.Text) { // another one has come since
		dl.DecideBy(daemon.Submitted, daemon.EvidenceInTranscript, d.Now())
		return true, nil
	}
	return false, nil
}

// LastPrompt returns the last prompt that gave an agent work. told says that a hook reported it and can be parsed;
// otherwise prompt is "".
func (d *Courier) LastPrompt(ctx context.Context, a *daemon.Agent) (prompt string, told bool, err error) {
	if a.LastPrompt == 0 {
		return "", false, nil
	}
	hook, err := d.Store.StoredHook(ctx, a.LastPrompt)
	if err != nil {
		return "", false, err
	}
	p, err := hooks.Parse(hook.Event, hook.Body)
	if err != nil {
		return "", false, nil
	}
	return p.Prompt, true, nil
}

// leftHeld returns how long a session may still hold the text that was typed to it last. The daemon's own hook of the session's start
// has come, but others may still run: until they end, the runtime keeps what is typed. A second text would be a second prompt then.
// Claude Code 2.1.330 says so on its screen, also when a person has cleared the session or opened another one. Where no sign is known,
// a session that has taken any prompt holds nothing. A text for which the daemon has pressed no Enter may have been submitted by a person,
// unless a dialog was over it or it never came to the composer. s is nil if the screen is not known.
func leftHeld(d *Courier, a *daemon.Agent, dl *daemon.Delivery, s *sight.Screen) time.Duration {
	if s != nil && s.Held && byKeys(dl) && dl.Kind != daemon.KindCommand {
		return d.TimeLeft(*dl.TypedAt, StartHooks)
	}
	paste := d.pastedOf(a, dl)
	lost := dl.Attempts == 0 && (paste.missing || !paste.dialog.IsZero())
	if d.RuntimeOf(a).Can.Registers != runtimes.RegistersByHook || a.RegisteredAt == nil || !byKeys(dl) || dl.Way == runtimes.ByEcho ||
		lost || HadTurn(a) || dl.Kind == daemon.KindCommand {
		return 0
	}
	return d.TimeLeft(*a.RegisteredAt, StartHooks)
}

// HadTurn reports whether a hook has told of a turn of the agent.
func HadTurn(a *daemon.Agent) bool { return a.TurnPromptID != "" || a.LastStop != 0 }

// OpeningLimit is how long a person may take to answer a dialog that a runtime opens before its session: whether the
// folder is trusted, how to log in. While it is open, no deadline of the registration runs.
const OpeningLimit = time.Hour

// StartHooks is how long the hooks of a session's start may take: Claude Code gives each ten minutes.
const StartHooks = 10 * time.Minute
