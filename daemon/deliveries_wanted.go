package daemon

import (
	"context"
	"fmt"
	"time"
)

// instructionWanted reports whether the handoff still waits for its instruction, and dl is that instruction.
func (d *Daemon) instructionWanted(ctx context.Context, dl *Delivery) (bool, error) {
	h, err := d.Store.Handoff(ctx, *dl.HandoffID)
	if err != nil {
		return false, fmt.Errorf("delivery %d: handoff %d: %w", dl.ID, *dl.HandoffID, err)
	}
	return h.Open() && h.DeliveryID != nil && *h.DeliveryID == dl.ID, nil
}

// decideByTranscript sets the verdict of a delivery whose text may or may not have been typed. If the transcript has the
// text, the verdict is Submitted; otherwise it is Unconfirmed, with the given evidence.
func (d *Daemon) decideByTranscript(ctx context.Context, a *Agent, dl *Delivery, evidence string) (bool, time.Duration, error) {
	verdict := Unconfirmed
	if d.inTranscript(a, dl) {
		verdict, evidence = Submitted, "found in the transcript"
	}
	dl.decide(verdict, evidence, d.now())
	return d.saveDelivery(ctx, a, dl, false)
}

// busyAgain reports whether an agent was given a prompt after its handoff asked it to exit. Enter would then submit the exit
// command during or after the turn of that prompt, although no document has the work of that turn. The stop ladder takes
// the request to exit back when the hook of the prompt has come.
func (d *Daemon) busyAgain(ctx context.Context, a *Agent, s *screen) bool {
	switch {
	case !a.StopYields:
		return false
	case s.Busy || d.look(a).busy():
		return true
	}
	now, err := d.Store.Agent(ctx, a.ID)
	return err != nil || now.LastPrompt > a.LastPrompt
}
