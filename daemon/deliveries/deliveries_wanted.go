package deliveries

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/sight"
)

// unwanted says why a text must not be given to its agent although the intention to do so is committed; "": it must be given.
// A handoff may have been cancelled since then, and an agent may have gone on by itself after its limit. An earlier daemon
// may have given the text.
func (d *Courier) unwanted(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (why daemon.EvidenceCode, err error) {
	switch dl.Kind {
	case daemon.KindInstruction:
		wanted, err := d.instructionWanted(ctx, dl)
		if err != nil || wanted {
			return "", err
		}
		return daemon.EvidenceNotWanted, nil
	case daemon.KindGoOn:
		if !wantsGoOn(a, dl) {
			return daemon.EvidenceWentOn, nil
		}
	}
	return "", nil
}

// instructionWanted reports whether the handoff still waits for its instruction, and dl is that instruction.
func (d *Courier) instructionWanted(ctx context.Context, dl *daemon.Delivery) (bool, error) {
	h, err := d.Store.Handoff(ctx, *dl.HandoffID)
	if err != nil {
		return false, fmt.Errorf("delivery %d: handoff %d: %w", dl.ID, *dl.HandoffID, err)
	}
	return h.Open() && h.DeliveryID != nil && *h.DeliveryID == dl.ID, nil
}

// turnStillRuns reports whether the turn that took a text still runs. The agent's state alone does not tell. If no hook
// reported the begin of the turn, the state follows the runtime's registry, and the daemon believes the registry only after
// a while.
func (d *Courier) turnStillRuns(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, error) {
	if a.State == daemon.Working || a.LastStop == 0 || dl.TypedAt == nil {
		return true, nil
	}
	last, err := d.Store.StoredHook(ctx, a.LastStop)
	if err != nil {
		return false, fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	// TypedAt is committed before the text is typed, so a hook of the same instant came before the text.
	return !d.Facts().CameAfter(a.LastStop, last.ReceivedAt, dl), nil
}

// decideByTranscript sets the verdict of a delivery whose text may or may not have been typed. If the transcript has the
// text, the verdict is Submitted; otherwise it is Unconfirmed, with the given evidence.
func (d *Courier) decideByTranscript(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, evidence daemon.EvidenceCode) (bool, time.Duration, error) {
	verdict := daemon.Unconfirmed
	if d.InTranscript(a, dl) {
		verdict, evidence = daemon.Submitted, daemon.EvidenceInTranscript
	}
	dl.DecideBy(verdict, evidence, d.Now())
	return d.saveDelivery(ctx, a, dl, false)
}

// busyAgain reports whether an agent was given a prompt after its handoff asked it to exit. Enter would then submit the exit
// command during or after the turn of that prompt, although no document has the work of that turn. The stop ladder takes
// the request to exit back when the hook of the prompt has come.
func (d *Courier) busyAgain(ctx context.Context, a *daemon.Agent, s *sight.Screen) bool {
	switch {
	case !a.StopYields:
		return false
	case s.Busy || d.Look(a).Busy():
		return true
	}
	now, err := d.Store.Agent(ctx, a.ID)
	return err != nil || now.LastPrompt > a.LastPrompt
}

// contextUnchanged reports whether the context file that an injection prompt points to still has its recorded content.
func (d *Courier) contextUnchanged(ctx context.Context, dl *daemon.Delivery) (bool, error) {
	h, err := d.Store.Handoff(ctx, *dl.HandoffID)
	if err != nil {
		return false, fmt.Errorf("delivery %d: handoff %d: %w", dl.ID, *dl.HandoffID, err)
	}
	return d.ContextIntact(&h), nil
}

// SetHold stores why the daemon does not type to an agent; people see its words. If the row says so already, SetHold writes nothing, and
// the lane looks again after the time again.
func (d *Courier) SetHold(ctx context.Context, a *daemon.Agent, why daemon.Hold, again time.Duration) (bool, time.Duration, error) {
	if a.Hold.Same(&why) {
		return false, again, nil
	}
	a.HoldBy(why, d.Now())
	if err := d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}}); err != nil {
		return false, 0, fmt.Errorf("agent %d: hold: %w", a.ID, err)
	}
	return true, 0, nil
}

// withoutPaneTo does the next step of a delivery to an agent that has no pane. The end of a turn is answered with the
// instruction of a handoff all the same. The transcript shows whether the agent has taken what was given to it before.
func (d *Courier) withoutPaneTo(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
	switch {
	case dl.State == daemon.DeliveryQueued && dl.Kind == daemon.KindInstruction && (a.State == daemon.Working || d.Sighted(a.ID).Busy()) && d.RuntimeOf(a).Can.HoldsTurn:
		return false, time.Second, nil
	case dl.State == daemon.DeliveryQueued, dl.TypedAt == nil:
		dl.DecideBy(daemon.NotSubmitted, daemon.EvidenceNoPane, d.Now())
		return d.saveDelivery(ctx, a, dl, false)
	case dl.State == daemon.DeliveryTyping:
		return d.decideByTranscript(ctx, a, dl, daemon.EvidenceNoPane)
	}
	return d.confirmDelivery(ctx, a, dl)
}
