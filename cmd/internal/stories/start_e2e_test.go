//go:build e2e

package stories

import (
	"testing"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon/agents"
)

func TestStartOfARuntimeNotInPathIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: []string{"no-such-agent-cli"}}}
	r.start()
	_, err := r.client.CreateAgent(t.Context(), agents.NewAgent{Persona: "developer-con-1", Cwd: r.work})
	wantCode(t, err, "runtime_missing")
	wantErr(t, "the command and the fix", err, "no-such-agent-cli", "config.yaml")
}
