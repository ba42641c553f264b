package daemon

import (
	"fmt"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/event"
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

// TestRefusedMessageIsTold: a message that another hook refuses is an alert, also if its agent works for a pipeline. The prompt of a step
// is none of its own: the step fails and tells.
func TestRefusedMessageIsTold(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"a message": false, "the prompt of the step": true} {
		h := hookedAgent(t)
		pipeline, step := int64(3), int64(5)
		h.agent.Runtime, h.agent.PipelineID, h.agent.StepID = "claude", &pipeline, &step
		dl := &Delivery{ID: 4, AgentID: h.agent.ID, Kind: KindMessage, State: DeliveryTyped, Way: runtimes.ByTyping, Text: "look at the sheds"}
		if first {
			h.agent.FirstPromptID = &dl.ID
		}
		h.deliveries = []*Delivery{dl}
		events := h.takes("PromptRefused", map[string]any{"prompt": dl.Text, "reason": "the gate is closed"})
		if len(events) == 0 || events[0].Type != event.DeliveryNotSubmitted || events[0].Alert == first {
			t.Errorf("%s: %+v", name, events)
		}
	}
}

// TestHeardPromptThatWasRefused: the transcript has the refusal of a text for which no other proof came. A refusal before the text was
// typed is about another prompt.
func TestHeardPromptThatWasRefused(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	line := fmt.Appendf(nil, `{"type":"system","subtype":"informational","timestamp":%q,"uuid":"u","content":"UserPromptSubmit operation blocked by hook:\nno\n\nOriginal prompt: look"}`+"\n", at.Format(time.RFC3339))
	for name, tt := range map[string]struct {
		jsonl []byte
		since time.Time
		want  Verdict
	}{
		"refused":             {line, at.Add(-time.Second), NotSubmitted},
		"an earlier one was":  {line, at.Add(time.Second), Submitted},
		"nothing was refused": {nil, at, Submitted},
	} {
		dl := &Delivery{State: DeliveryTyped, Heard: 9, Way: runtimes.ByTyping, Text: "look"}
		dl.decideHeard(runtimes.Claude(), tt.jsonl, tt.since, at)
		if !dl.has(tt.want) {
			t.Errorf("%s: %s", name, *dl.Verdict)
		}
	}
}
