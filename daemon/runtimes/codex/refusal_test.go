package codex

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// TestTellsRefusals: a turn in which Codex has not asked the model is told as a refusal, and the screen has the hook's words. The
// lines and screens are those of 0.169.0.
func TestTellsRefusals(t *testing.T) {
	t.Parallel()
	const end = `{"timestamp":"2026-11-26T14:35:44.821Z","ordinal":7,"type":"event_msg","payload":{"type":"task_complete","turn_id":"T",`
	for rest, want := range map[string]string{
		`"last_agent_message":null,"started_at":1795703744,"completed_at":1795703744,"duration_ms":72}}`:                     hooks.PromptRefused,
		`"last_agent_message":null,"duration_ms":72,"time_to_first_token_ms":49}}`:                                           hooks.Notification,
		`"last_agent_message":"The chimney leans.","duration_ms":104,"time_to_first_token_ms":49}}`:                          hooks.Notification,
		`"last_agent_message":null,"error":{"message":"stream disconnected","codex_error_info":"other"},"duration_ms":104}}`: hooks.StopFailure,
	} {
		r, ok := Runtime.Tail("S", []byte(end+rest))
		p, err := hooks.Parse(r.Event, r.Body)
		if !ok || err != nil || r.Event != want || p.PromptID != "T" {
			t.Errorf("%s is told as %s %s, %v, want %s", rest, r.Event, r.Body, err, want)
		}
	}
	for shown, want := range map[string]string{
		"› a forbidden thing\n\n\n• Blocked by hook\n  └ the gate is closed\n\n  Worked for <1s • 14:35\n":                          "the gate is closed",
		"› a forbidden thing\n\n\n• Hook stopped\n  └ the gate is\n    closed today\n\n  Worked for <1s • 14:35\n":                  "the gate is closed today",
		"› a forbidden thing\n\n\n• Blocked by hook\n  └ the gate is closed\n\n\n› please a good thing\n\n\n• The chimney leans.\n": "",
		"› please a good thing\n\n\n• The chimney leans.\n":                                                                         "",
	} {
		screen := "  >_ OpenAI Codex (v0.169.0)\n\n\n" + shown + strings.Repeat("\n", 8) +
			"› Ask Codex to do anything\n\n  GPT-5.5 default · /srv/work\n  ← for agents · ? for shortcuts\n"
		equal(t, shown+" is read as", Runtime.Refusal(runtimes.View{Text: screen}), want)
	}
}
