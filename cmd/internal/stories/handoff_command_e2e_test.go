//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestModelRunsTheHandoffCommand: The model runs the command as a skill. The skill's shell line asks the daemon with
// the agent's own secret, over the socket that agents get. The shell does not change the focus.
func TestModelRunsTheHandoffCommand(t *testing.T) {
	t.Parallel()
	r := withShells(newRig(t)).start()
	plan := installCommand(r)
	a := startSpokenTo(r)
	const focus = `the "parser"; $(touch ran) 'and' ` + "`touch ran`"
	_, block, _ := strings.Cut(string(plan.After), "```!\n")
	line, _, ok := strings.Cut(block, "\n```")
	if !ok || !strings.Contains(line, "$ARGUMENTS") {
		t.Fatalf("no shell line in\n%s", plan.After)
	}
	line = strings.ReplaceAll(line, "$ARGUMENTS", focus)
	script := filepath.Join(t.TempDir(), "line")
	writeFile(r, script, line)
	equal(t, "the agent was given socket", launchEnv(r, a.ID)["UNDERSTUDY_SOCKET"], r.dir.HookSocket())
	code, out, errs := runInside(r, a.ID, "", "bash "+script)
	// The id may be 2: a request that comes while a hook writes the agent's row is tried again, with another id.
	var id int64
	if _, bad := fmt.Sscanf(out, "handoff %d of agent 1 initiated", &id); code != 0 || bad != nil {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	h := r.awaitPhase(id, daemon.Completed)
	if h.Mode != daemon.ModeGenerate || h.Focus != focus {
		t.Errorf("mode %s, focus %q, want %q", h.Mode, h.Focus, focus)
	}
	if _, err := os.Stat(filepath.Join(r.work, "ran")); !os.IsNotExist(err) {
		t.Errorf("the focus was run: %v", err)
	}
}
