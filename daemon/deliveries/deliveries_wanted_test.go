package deliveries

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestPromptWasTakenAfterAll: the injection prompt of a handoff was given up, queued again by a retry, and taken meanwhile. Its transcript tells,
// so that it is not given twice. An equal message of an operator is another one.
func TestPromptWasTakenAfterAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	line := `{"type":"user","timestamp":"2031-05-04T03:00:00.000Z","message":{"role":"user","content":"[handoff_a_b_1] understudy: take over"}}` + "\n"
	wardentest.Must(t, os.WriteFile(path, []byte(line), 0o600))
	a := &daemon.Agent{ID: 3, Runtime: "claude", AgentSession: daemon.AgentSession{TranscriptPath: &path}}
	for ref, is := range map[string]bool{"handoff_a_b_1": true, "handoff_a_b_2": false} {
		for _, kind := range []daemon.DeliveryKind{daemon.KindPrompt, daemon.KindMessage} {
			want, dl := is && kind == daemon.KindPrompt, &daemon.Delivery{ID: 4, Kind: kind, Nonce: ref, State: daemon.DeliveryQueued}
			got, err := takenAfterAll(t.Context(), testCourier(engine.Config{}), a, dl)
			if got != want || dl.Has(daemon.Submitted) != want || err != nil {
				t.Errorf("%s %s: %t, %q, %v", kind, ref, got, dl.Evidence, err)
			}
		}
	}
}
