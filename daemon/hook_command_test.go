package daemon

import (
	"testing"
)

func TestHandoffCommandIsToldFromOtherPrompts(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"/handoff": "", "/handoff the parser": "the parser", " /handoff\tfix \"x\" $(date) ": `fix "x" $(date)`, "/handoff\nall": "all",
	} {
		if focus, ok := handoffCommand(prompt); !ok || focus != want {
			t.Errorf("%q: %q, %v", prompt, focus, ok)
		}
	}
	for _, prompt := range []string{"", "handoff", "/handoffs", "/handoff-now", "say /handoff", "/hand off"} {
		if _, ok := handoffCommand(prompt); ok {
			t.Errorf("%q was taken for the command", prompt)
		}
	}
}
