//go:build e2e

package stories

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
)

// TestMissingRuntimeFailsTheSuccessorsStart: The runtime's command is gone when the daemon starts the successor.
func TestMissingRuntimeFailsTheSuccessorsStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	command := filepath.Join(filepath.Dir(r.root), "agent-cli")
	if err := os.Symlink(cmdtest.AgentProgram(t), command); err != nil {
		t.Fatal(err)
	}
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: []string{command}}}
	r.start()
	a := r.startAgent(con)
	if err := os.Remove(command); err != nil {
		t.Fatal(err)
	}
	failed := r.awaitFailure(r.requestHandoff(a.ID), daemon.AwaitingRegistration, "successor_gone")
	if !strings.Contains(failed.Error.Message, "could not be started") || !strings.Contains(failed.Error.Message, command) {
		t.Errorf("failure %q does not name the command", failed.Error.Message)
	}
	if err := os.Symlink(cmdtest.AgentProgram(t), command); err != nil {
		t.Fatal(err)
	}
	r.retryHandoff(failed.ID)
	h := r.awaitPhase(failed.ID, daemon.Completed)
	r.wantRecord(failed, h)
	r.wantOneLive(a.ID, h)
}
