package codex

import (
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestRefusedPlan: without its setting the CLI refuses the call, and says so in the output alone.
func TestRefusedPlan(t *testing.T) {
	t.Parallel()
	e := wardentest.Value(Runtime.ParseEntry([]byte(`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"unsupported call: update_plan"}}`)))(t)
	equal(t, "failed calls", e.Failed, []string{"c1"})
}
