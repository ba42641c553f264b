//go:build e2e

package stories

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestModelRunsTheHandoffCommand: The model runs the command as a skill. The skill's shell line asks the daemon with
// the agent's own secret, over the socket that agents get. The shell does not change the focus.
func TestModelRunsTheHandoffCommand(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	plan := installCommand(r)
	a := startSpokenTo(r)
	const focus = `the "parser"; $(touch ran) 'and' ` + "`touch ran`"
	_, block, _ := strings.Cut(string(plan.After), "```!\n")
	line, _, ok := strings.Cut(block, "\n```")
	if !ok || !strings.Contains(line, "$ARGUMENTS") {
		t.Fatalf("no shell line in\n%s", plan.After)
	}
	line = strings.ReplaceAll(line, "$ARGUMENTS", focus)
	ask := func(socket string) (string, error) {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = r.work
		cmd.Env = append(cmd.Env, r.cfg.Environ...)
		for name, value := range launchEnv(r, a.ID) {
			if name == "UNDERSTUDY_SOCKET" && socket != "" {
				value = socket
			}
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if env := launchEnv(r, a.ID); env["UNDERSTUDY_SOCKET"] != r.dir.HookSocket() {
		t.Errorf("the agent was given socket %s, want %s", env["UNDERSTUDY_SOCKET"], r.dir.HookSocket())
	}
	out, err := ask("")
	// The id may be 2: a request that comes while a hook writes the agent's row is tried again, with another id.
	var id int64
	if _, bad := fmt.Sscanf(out, "handoff %d of agent 1 initiated", &id); err != nil || bad != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h := r.awaitPhase(id, daemon.Completed)
	if h.Mode != daemon.ModeGenerate || h.Focus != focus {
		t.Errorf("mode %s, focus %q, want %q", h.Mode, h.Focus, focus)
	}
	if _, err := os.Stat(filepath.Join(r.work, "ran")); !os.IsNotExist(err) {
		t.Errorf("the focus was run: %v", err)
	}
}
