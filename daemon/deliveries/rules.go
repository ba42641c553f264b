package deliveries

import (
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// turnSince reports whether a hook tells of a turn since a text was typed.
func turnSince(a *daemon.Agent, dl *daemon.Delivery) bool {
	return a.LastPrompt > dl.AfterHook || a.LastStop > dl.AfterHook
}

// wantsGoOn reports whether the agent still needs the prompt after the reset. It does not if it has gone on by itself, or if
// a person has prompted it.
func wantsGoOn(a *daemon.Agent, dl *daemon.Delivery) bool {
	return a.State == daemon.Limited && a.Limit != nil && a.Limit.DeliveryID != nil && *a.Limit.DeliveryID == dl.ID
}

// CheckCancel refuses to cancel a text that is not the operator's to cancel, or that has left the queue.
func CheckCancel(a *daemon.Agent, dl *daemon.Delivery) error {
	switch {
	case dl.Kind != daemon.KindMessage && dl.Kind != daemon.KindCommand:
		return daemon.Errorf(daemon.KindConflict, daemon.CodeNotAMessage, "Delivery %d is no message but %s of the daemon: it cannot be cancelled", dl.ID, dl.Kind)
	case a.IsStepPrompt(dl):
		return daemon.Errorf(daemon.KindConflict, daemon.CodeNotAMessage, "Delivery %d is the prompt of a step: abort it with `understudy pipeline abort %d`", dl.ID, *a.PipelineID)
	case dl.Verdict != nil:
		return daemon.Errorf(daemon.KindConflict, daemon.CodeMessageTaken, "Delivery %d can no longer be cancelled: it is %s (%s)", dl.ID, *dl.Verdict, dl.Evidence)
	case dl.State != daemon.DeliveryQueued:
		return daemon.Errorf(daemon.KindConflict, daemon.CodeMessageTaken, "Delivery %d can no longer be cancelled: it is being typed", dl.ID)
	}
	return nil
}

// passable reports whether a text is a message that a successor can get. The prompt of a step is none: the pipeline itself
// sees to it that the step's agent gets that.
func passable(a *daemon.Agent, dl *daemon.Delivery) bool {
	return dl.Kind == daemon.KindMessage && dl.State == daemon.DeliveryQueued && !a.IsStepPrompt(dl)
}

// byKeys reports whether the text goes through the composer, so that the agent takes it as soon as Enter is pressed.
func byKeys(d *daemon.Delivery) bool {
	return d.Way != runtimes.ByInbox && d.Way != runtimes.ByServer && d.Way != runtimes.ByQueue
}

// mayComeAgain reports whether a text that was typed may be typed once more if it is lost.
func mayComeAgain(d *daemon.Delivery) bool {
	return d.State == daemon.DeliveryTyped && d.Heard == 0 && byKeys(d) && d.Way != runtimes.ByEcho && !d.TypedAgain && d.Kind != daemon.KindExit
}

// Leaves reports whether the outgoing agent is going to end: the handoff is recorded, and does not keep the agent.
func Leaves(h *daemon.Handoff) bool { return h.RecordedAt != nil && !h.Keep }

// Passes reports whether the queued messages of the outgoing agent wait for its successor.
func Passes(h *daemon.Handoff) bool {
	return Leaves(h) && !h.DropMessages && h.Phase != daemon.Completed
}
