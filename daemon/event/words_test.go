package event

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestEventWords(t *testing.T) {
	t.Parallel()
	id := func(n int64) *int64 { return &n }
	for _, tt := range []struct {
		e       Event
		payload string
		want    string
	}{
		{Event{Type: "agent_idle", AgentID: id(7)}, `{"hook": "Stop"}`, "Agent 7 is idle"},
		{Event{Type: "agent_idle", AgentID: id(7), PipelineID: id(2), StepID: id(5)}, `{}`, "Agent 7 is idle (pipeline 2)"},
		{Event{Type: "agent_created", AgentID: id(7)}, `{"persona": "a-b-1", "generation": 3}`, "Agent 7 was created as a-b-1, generation 3"},
		{Event{Type: "agent_created", AgentID: id(7)}, `{"persona": null}`, "Agent 7 was created"},
		{Event{Type: "agent_waiting", AgentID: id(7), HandoffID: id(77)}, `{"message": "Agent 77 waits."}`, "Agent 77 waits (agent 7, handoff 77)"},
		{Event{Type: AgentMessaged, AgentID: id(7)}, `{"to_agent_id": 9007199254740993, "delivery_id": 4}`, "Agent 7 has written to agent 9007199254740993 (delivery 4)"},
		{Event{Type: "handoff_recorded", AgentID: id(7), HandoffID: id(3)}, `{"cause": "[verified] {x}", "successor_id": 8}`, "Handoff 3 is in phase recorded: [verified] {x} (agent 7, successor 8)"},
		{Event{Type: "operator_notified", AgentID: id(7)}, `{"event_id": 12, "channel": "log", "message": "Agent 7 waits."}`, "The operator was told of event 12 (log): Agent 7 waits."},
		{Event{Type: "log_pruned"}, `{"events": 5, "hooks": 0, "until": null}`, "5 events and 0 hooks were deleted from the log"},
		{Event{Type: FeedTruncated}, `{"after": 5, "oldest": 90}`, "Events after 5 are missing: the log has kept them from 90 on"},
		{Event{Type: "step_failed", PipelineID: id(2), StepID: id(5)}, `{"step": 2, "agent_name": "reviewer", "error": "no\u001b[31m\nroom\u202e"}`, "Step 2 (reviewer) of pipeline 2 has failed: no[31m room"},
		{Event{Type: "step_done", PipelineID: id(2), StepID: id(5)}, `{"step": 2, "agent_name": "reviewer", "duration_ms": 12340}`, "Step 2 (reviewer) of pipeline 2 is done in 12.34 s"},
		{Event{Type: "agent_ended", AgentID: id(7)}, `{"reason": "process_gone", "asked": true}`, "Agent 7 has ended: its process is gone"},
		{Event{Type: "agent_ended", AgentID: id(7)}, `{"reason": null}`, "Agent 7 has ended"},
		{Event{Type: "agent_context", AgentID: id(7)}, `{"tier": "high", "percent": 71.4}`, "Agent 7 has used its context up to 71.4 %"},
		{Event{Type: "of_another_version", AgentID: id(1)}, `[1]`, "Of another version (agent 1)"},
		{Event{Type: "agent_idle"}, ``, "Some agent is idle"},
	} {
		tt.e.Payload = json.RawMessage(tt.payload)
		wardentest.Equal(t, string(tt.e.Type)+" "+tt.payload, tt.e.Words(), tt.want)
	}
	long := Event{Type: "agent_waiting", AgentID: id(7), Payload: Payload(map[string]any{"message": strings.Repeat("x", 5000)})}
	if got := long.Words(); len([]rune(got)) > maxWords+20 || !strings.HasSuffix(got, "… (agent 7)") {
		t.Errorf("%d runes, …%s", len([]rune(got)), got[len(got)-20:])
	}
}

// TestPayloadMasksTexts: the values are masked, and what is an escape in JSON stays whole.
func TestPayloadMasksTexts(t *testing.T) {
	t.Parallel()
	got := string(Payload(map[string]any{"id": 1 << 60, "list": []string{"echo password=003cAbcdef1234; cat <Abcdef1234", "003cAbcdef1234"}}))
	wardentest.Equal(t, "payload", got, `{"id":1152921504606846976,"list":["echo password=00…[masked: password]; cat \u003cAbcdef1234","003cAbcdef1234"]}`)
}
