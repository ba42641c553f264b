//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
)

// TestGenerateWithoutSessionOrRuntimeFails: the runtime does not know the session, or the runtime's program is missing.
func TestGenerateWithoutSessionOrRuntimeFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	script := filepath.Join(filepath.Dir(r.root), "claude")
	text := fmt.Appendf(nil, "#!/bin/sh\nexec '%s' \"$@\"\n", cmdtest.AgentProgram(t))
	write := func() {
		must(t, os.WriteFile(script, text, 0o700))
	}
	write()
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: []string{script}}}
	r.start()
	a := r.startAgent(con) // Nobody has said a word to it.
	in := value(r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Mode: daemon.ModeGenerate, Force: true}))(t)
	awaitGenerationFailure(r, in.HandoffID, "no_session", "Handoff failed: the session has no conversation yet that could be forked")

	doTurn(r, a.ID, "hello")
	must(t, os.Remove(script))
	_, err := r.client.RetryHandoff(t.Context(), in.HandoffID, "")
	wantRefused(t, err, daemon.CodeRuntimeMissing, script)
	write()
	r.retryHandoff(in.HandoffID)
	r.awaitPhase(in.HandoffID, daemon.Completed)
}
