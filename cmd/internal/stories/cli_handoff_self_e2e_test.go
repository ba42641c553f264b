//go:build e2e

package stories

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
)

// TestHandoffSelfFindsAPersonsAgentBySession: The command finds an agent that a person started by its session.
func TestHandoffSelfFindsAPersonsAgentBySession(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.startAgent("")
	a := startSpokenTo(r)
	r.misbehave("think=1h")
	env := map[string]string{"UNDERSTUDY_DATA": r.root, "CLAUDE_CODE_SESSION_ID": *a.SessionID}
	code, stdout, stderr := runWith(r, env, "", "handoff", "self", "--json")
	if code != commands.ExitDone || !strings.Contains(stdout, fmt.Sprintf(`"handoff_id": %d`, r.latestHandoff(a.ID).ID)) {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	env["CLAUDE_CODE_SESSION_ID"] = "5c6b4a3e-0000-4000-8000-000000000001"
	code, _, stderr = runWith(r, env, "", "handoff", "cancel", "self")
	if want := "understudy: no active agent has this session: `understudy hooks install` has those that you start register\n"; code != commands.ExitFailed || stderr != want {
		t.Errorf("another session: exit code %d, %q", code, stderr)
	}
}

// runWith runs understudy in this process with an environment of its own.
func runWith(r *rig, env map[string]string, stdin string, args ...string) (code int, stdout, stderr string) {
	r.t.Helper()
	var out, errs bytes.Buffer
	code = commands.Run(r.t.Context(), args, func(name string) string { return env[name] }, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// launchEnv is the environment with which the agent's process was started.
func launchEnv(r *rig, agentID int64) map[string]string {
	r.t.Helper()
	b := value(os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.pane(agentID).PID)))(r.t)
	env := map[string]string{}
	for entry := range strings.SplitSeq(string(b), "\x00") {
		if name, value, ok := strings.Cut(entry, "="); ok {
			env[name] = value
		}
	}
	return env
}

// TestHandoffSelfRequestsTheAgentsOwnHandoff: It uses what the agent was launched with, and needs no data directory.
func TestHandoffSelfRequestsTheAgentsOwnHandoff(t *testing.T) {
	t.Parallel()
	r := withShells(newRig(t)).start()
	a := startSpokenTo(r)
	r.misbehave("think=1h")
	handoff := func(stdin string, args ...string) (code int, stdout, stderr string) {
		return runInside(r, a.ID, stdin, "unset UNDERSTUDY_DATA; "+understudyLine(r, append([]string{"handoff"}, args...)...))
	}
	code, stdout, stderr := handoff("  the failing\nmigration \n", "self", "--mode", "generate", "--focus", "-", "--reason", "stuck")
	h := r.latestHandoff(a.ID)
	if want := fmt.Sprintf("handoff %d of agent %d initiated: `understudy handoff cancel self` cancels it until its document is recorded\n", h.ID, a.ID); code != commands.ExitDone || stdout != want {
		t.Fatalf("exit code %d, %q, %q; want %q", code, stdout, stderr, want)
	}
	if h.Mode != daemon.ModeGenerate || h.Focus != "the failing\nmigration" || h.Reason != "stuck" {
		t.Errorf("handoff %+v", h)
	}
	if code, _, stderr := handoff("", "self"); code != commands.ExitFailed || !strings.HasPrefix(stderr, "understudy: Handoff already in progress") {
		t.Errorf("a second one: exit code %d, %q", code, stderr)
	}
	cancelled := fmt.Sprintf("handoff %d is cancelled; agent %d lives on\n", h.ID, a.ID)
	if code, stdout, stderr := handoff("", "cancel", "self"); code != commands.ExitDone || stdout != cancelled {
		t.Errorf("cancel: exit code %d, %q, %q", code, stdout, stderr)
	}
	for what, env := range map[string]map[string]string{"a wrong secret": {"UNDERSTUDY_LAUNCH": "x"}, "its secret, outside of it": {}} {
		for name, value := range launchEnv(r, a.ID) {
			if env[name] == "" {
				env[name] = value
			}
		}
		if code, _, stderr := runWith(r, env, "", "handoff", "self"); code != commands.ExitFailed || stderr == "" {
			t.Errorf("with %s: exit code %d, %q", what, code, stderr)
		}
	}
}
