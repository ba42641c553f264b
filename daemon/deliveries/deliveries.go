package deliveries

import (
	"fmt"

	"github.com/understudyd/understudy/daemon"
)

// DeliveryPayload returns the payload of an event about a delivery, with what to do if its text was not taken.
func DeliveryPayload(dl *daemon.Delivery) map[string]any {
	p := map[string]any{"delivery_id": dl.ID, "kind": dl.Kind, "attempts": dl.Attempts, "evidence": dl.Evidence}
	if dl.Verdict != nil && *dl.Verdict != daemon.Submitted {
		p["message"] = fmt.Sprintf("A text for agent %d was not confirmed (%s); look at its pane with `understudy agent attach %d`, and send it again if it is not there.",
			dl.AgentID, dl.Evidence, dl.AgentID)
		if dl.EvidenceCode == daemon.EvidenceNoPane || dl.EvidenceCode == daemon.EvidenceEnded && dl.Has(daemon.NotSubmitted) {
			p["message"] = fmt.Sprintf("A text for agent %[1]d was not given to it (%[2]s): `understudy agent show %[1]d` says what to do.", dl.AgentID, dl.Evidence)
		}
	}
	return p
}
