package codex

import (
	"slices"
	"testing"
)

// TestRefusedPlan: without its setting the CLI refuses the call, and says so in the output alone.
func TestRefusedPlan(t *testing.T) {
	t.Parallel()
	e, err := Runtime.ParseEntry([]byte(`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"unsupported call: update_plan"}}`))
	if err != nil || !slices.Equal(e.Failed, []string{"c1"}) {
		t.Errorf("failed calls %q, %v", e.Failed, err)
	}
}
