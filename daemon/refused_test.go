package daemon

import (
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// TestTurnOfAHeardInstructionFails: the end of a turn proves that its prompt was taken, also an end with an error, which may come before
// the transcript was looked at. The handoff fails with that error, instead of waiting for the end of a turn that has ended.
func TestTurnOfAHeardInstructionFails(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	h.agent.Runtime = "claude"
	dl := &Delivery{ID: 4, AgentID: h.agent.ID, Kind: KindInstruction, State: DeliveryTyped, Way: runtimes.ByTyping, Text: "[ref] hand over", Nonce: "[ref]"}
	h.deliveries, h.handoff = []*Delivery{dl}, &Handoff{ID: 1, Phase: Instructing, DeliveryID: &dl.ID}
	h.takes("UserPromptSubmit", map[string]any{"prompt": dl.Text, "prompt_id": "p"})
	if dl.Heard == 0 || dl.Verdict != nil || h.handoff.Confirmed {
		t.Fatalf("the delivery is %+v", dl)
	}
	h.takes("StopFailure", map[string]any{"prompt_id": "p", "error": "rate_limit", "last_assistant_message": "API Error: 429"})
	if !dl.has(Submitted) || !h.handoff.Confirmed || h.handoff.Trouble == "" {
		t.Errorf("the delivery is %+v; trouble of the handoff: %q", dl, h.handoff.Trouble)
	}
}
