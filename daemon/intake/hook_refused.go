package intake

import (
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/event"
)

// confirmHeard confirms the texts that the runtime has reported as the prompt of the turn that has ended now. Whether it ended well or
// with an error: it ran, so no hook had refused its prompt.
func (h *hookStep) confirmHeard() {
	for _, dl := range h.tx.Deliveries {
		if dl.State == daemon.DeliveryTyped && dl.Heard != 0 && h.ended(dl) {
			h.confirm(dl, deliveries.EvidenceHeard(dl.Heard), false)
		}
	}
}

// ended reports whether the turn that has ended now was that of a heard text. If a person's prompt came after the text, the turn may be
// that prompt's alone: the transcript decides. The spool may have the hooks of the two change places. A Stop that came since then was not
// the text's, and this may be the next Stop of the same turn.
func (h *hookStep) ended(dl *daemon.Delivery) bool {
	a := h.tx.Agent
	sameTurn := h.p.PromptID == "" || h.p.PromptID == a.TurnPromptID
	behind := a.LastPrompt > dl.Heard || a.LastPromptAt != nil && dl.HeardAt != nil && a.LastPromptAt.After(*dl.HeardAt)
	return sameTurn && !behind && a.LastStop <= dl.Heard
}

// promptRefused applies the report that another hook has refused a prompt. The turn that our own hook has begun does not run.
func (h *hookStep) promptRefused() {
	a, why, ours, later := h.tx.Agent, deliveries.RefusalWords(h.p.Reason), false, h.beforeLastPrompt()
	for _, dl := range h.tx.Deliveries {
		if h.unknown || !deliveries.RefusedPrompt(h.p, dl, h.in.At) {
			continue
		}
		if h.in.At.Before(deliveries.RefusedSince(h.Past, dl)) {
			later = later || dl.Heard != 0
			continue
		}
		ours = true
		if h.p.Kept {
			h.confirm(dl, deliveries.EvidenceHeard(dl.Heard), false)
			continue
		}
		dl.Decide(daemon.NotSubmitted, why, h.Now)
		h.out.Change.Deliveries = append(h.out.Change.Deliveries, dl)
		e := h.Facts.Event(event.DeliveryNotSubmitted, &a.ID, dl.HandoffID, deliveries.DeliveryPayload(dl)).For(a.PipelineID, a.StepID)
		e.Alert = dl.HandoffID == nil && dl.Kind != daemon.KindExit && !a.IsStepPrompt(dl) // a handoff tells, too
		h.out.Change.Events = append(h.out.Change.Events, e)
	}
	a.RestSince(h.in.At) // the hook of the prompt may still come, out of the spool
	switch {
	case later, a.State == daemon.Working && h.in.At.Before(a.StateAt.Truncate(time.Millisecond)):
		return // a later prompt has begun a turn, or is with the hooks
	case h.unknown:
		h.setState(a.Rest()) // no prompt of which we know began that turn
		return
	case !ours && (a.State != daemon.Working || a.StopCameAt != nil):
		return // our own hook refuses commands of ours, which begin no turn; or a hook has held the end of a turn
	}
	if hf := h.tx.Handoff; hf != nil && hf.AwaitsStop() && a.HandingOver {
		hf.FailTurn(why)
		h.touchHandoff()
	}
	a.RefuseTurn(why)
	h.setState(a.Rest())
}

// beforeLastPrompt reports whether a refusal came before the newest prompt of a person.
func (h *hookStep) beforeLastPrompt() bool {
	last := h.tx.Agent.LastPromptAt
	return last != nil && h.in.At.Before(h.Past.Earliest(*last).Add(-deliveries.TwinWithin))
}
