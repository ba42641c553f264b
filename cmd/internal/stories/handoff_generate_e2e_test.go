//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
)

// TestGenerateWithoutSessionOrRuntimeFails: The runtime does not know the session, or the runtime's program is
// missing.
func TestGenerateWithoutSessionOrRuntimeFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	script := filepath.Join(filepath.Dir(r.root), "claude")
	text := fmt.Appendf(nil, "#!/bin/sh\nexec '%s' \"$@\"\n", cmdtest.AgentProgram(t))
	write := func() {
		if err := os.WriteFile(script, text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write()
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: []string{script}}}
	r.start()
	a := r.startAgent(con) // Nobody has said a word to it.
	in, err := r.client.RequestHandoff(t.Context(), a.ID, daemon.HandoffRequest{Mode: daemon.ModeGenerate, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	r.awaitGenerationFailure(in.HandoffID, "no_session", "Handoff failed: the session has no conversation yet that could be forked")

	r.doTurn(a.ID, "hello")
	if err := os.Remove(script); err != nil {
		t.Fatal(err)
	}
	r.retryHandoff(in.HandoffID)
	h := r.awaitPhase(in.HandoffID, daemon.Failed)
	if h.Error.Code != "generation_failed" || !strings.HasPrefix(h.Error.Message, "Handoff failed: ") || !strings.Contains(h.Error.Message, script) {
		t.Errorf("failure %+v: want it to name %s", h.Error, script)
	}
	write()
	r.retryHandoff(h.ID)
	r.awaitPhase(h.ID, daemon.Completed)
}
