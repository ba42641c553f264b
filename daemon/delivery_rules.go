package daemon

import (
	"fmt"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// MayComeAgain reports whether a text that was typed may be typed once more if it is lost.
func (d *Delivery) MayComeAgain() bool {
	return d.State == DeliveryTyped && d.Heard == 0 && d.ByKeys() && d.Way != runtimes.ByEcho && !d.TypedAgain && d.Kind != KindExit
}

// Unsend sets a delivery back to DeliveryQueued.
func (d *Delivery) Unsend(why string) {
	d.State, d.TypedAt, d.Attempts, d.Evidence, d.Way, d.Heard, d.HeardAt = DeliveryQueued, nil, 0, why, "", 0, nil
}

// QueuedWords says why a text for the agent g is not typed yet. It returns "" if the text has left the queue.
func (d *Delivery) QueuedWords(g *Agent) string {
	switch {
	case d.State != DeliveryQueued:
		return ""
	case !g.Active():
		return fmt.Sprintf("agent %d has handed over; its successor gets the text after its briefing", g.ID)
	case g.State == Waiting:
		return fmt.Sprintf("a dialog is open in agent %d's pane: answer it with `understudy agent attach %[1]d`", g.ID)
	case g.State == Working:
		return fmt.Sprintf("agent %d is in a turn; it gets the text when the turn ends", g.ID)
	case g.Hold.Is(HoldBudget):
		return g.Hold.Words() + ": " + g.budgetNext()
	case g.Hold == nil && g.State == Starting:
		return fmt.Sprintf("agent %d is starting", g.ID)
	case g.Hold == nil && g.Trouble != nil:
		return fmt.Sprintf("agent %d is in trouble: %s", g.ID, g.Trouble.Words())
	}
	return g.Note
}
