//go:build e2e

package stories

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

// TestClaudeStepEndsAfterItsGate: a Stop hook of the user's, which takes a while, blocks the Stop once a turn. The real CLI goes on in
// the same turn, so the step ends with the answer to the hook, and its agent is ended after that.
func TestClaudeStepEndsAfterItsGate(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, func(req claudetest.Request) claudetest.Reply {
		switch told := strings.Join(req.NewTexts(), "\n"); {
		case strings.Contains(told, "run the tests"):
			return claudetest.Reply{Text: "The tests pass."}
		case strings.Contains(told, "## Handoff from previous step"):
			return claudetest.Reply{Text: "The chimney leans."}
		}
		return claudetest.Reply{Text: "The roof is mended."}
	})
	gate := filepath.Join(r.work, "gate.sh")
	const script = "#!/bin/sh\nin=$(cat)\nsleep 2\ncase $in in *'\"stop_hook_active\":true'*) exit 0;; esac\necho '{\"decision\":\"block\",\"reason\":\"run the tests\"}'\n"
	settings, err := json.Marshal(map[string]any{"hooks": map[string]any{"Stop": []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": gate}}}}}})
	if err == nil {
		err = os.WriteFile(gate, []byte(script), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(r.home.ConfigDir, "settings.json"), settings, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.writeTemplate("two", "developer", "reviewer | prompt: Look closely.")
	r.start()
	p := r.awaitPipeline(r.startPipeline("two", "Mend the roof.").ID, daemon.PipelineDone)
	r.wantSteps(p, "done done")
	for i := range p.Steps {
		if got := p.Steps[i].LatestHandoff; got == nil || got.ContentMD != "The tests pass." {
			t.Errorf("step %d left %+v, want what its agent said after the gate", i+1, got)
		}
		if n := len(r.tap.of(p.Steps[i].AgentIDs[0], hooks.Stop)); n != 2 {
			t.Errorf("the agent of step %d had %d Stops, want one before the gate and one after it", i+1, n)
		}
	}
}
