//go:build e2e

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestCommandOfTheModel: the model runs the command as a skill, whose shell line asks the daemon with the
// agent's own secret, over the socket that agents are given. The focus passes the shell as it is.
func TestCommandOfTheModel(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	plan := r.installCommand()
	a := r.spokenTo()
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
		for name, value := range r.environment(a.ID) {
			if name == "UNDERSTUDY_SOCKET" && socket != "" {
				value = socket
			}
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if env := r.environment(a.ID); env["UNDERSTUDY_SOCKET"] != r.dir.HookSocket() {
		t.Errorf("the agent was given socket %s, want %s", env["UNDERSTUDY_SOCKET"], r.dir.HookSocket())
	}
	out, err := ask("")
	if err != nil || !strings.HasPrefix(out, "handoff 1 of agent 1 initiated") {
		t.Fatalf("%v: %s", err, out)
	}
	h := r.awaitPhase(1, daemon.Completed)
	if h.Mode != daemon.ModeGenerate || h.Focus != focus {
		t.Errorf("mode %s, focus %q, want %q", h.Mode, h.Focus, focus)
	}
	if _, err := os.Stat(filepath.Join(r.work, "ran")); !os.IsNotExist(err) {
		t.Errorf("the focus was run: %v", err)
	}
}
