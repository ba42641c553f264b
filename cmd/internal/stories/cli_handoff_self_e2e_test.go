//go:build e2e

package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/commands"
)

// TestHandoffSelfFindsAPersonsAgentBySession: The command finds an agent that a person started by its session.
func TestHandoffSelfFindsAPersonsAgentBySession(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.startAgent("")
	a := startSpokenTo(r)
	r.misbehave("think=1h")
	env := map[string]string{"UNDERSTUDY_DATA": r.root, "CLAUDE_CODE_SESSION_ID": *a.SessionID}
	code, stdout, stderr := runInside(r, env, "", "handoff", "self", "--json")
	if code != commands.ExitDone || !strings.Contains(stdout, fmt.Sprintf(`"handoff_id": %d`, r.latestHandoff(a.ID).ID)) {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	env["CLAUDE_CODE_SESSION_ID"] = "5c6b4a3e-0000-4000-8000-000000000001"
	code, _, stderr = runInside(r, env, "", "handoff", "cancel", "self")
	if want := "understudy: no active agent has this session: `understudy hooks install` has those that you start register\n"; code != commands.ExitFailed || stderr != want {
		t.Errorf("another session: exit code %d, %q", code, stderr)
	}
}
