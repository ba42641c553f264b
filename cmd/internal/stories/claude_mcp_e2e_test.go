//go:build e2e

package stories

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
)

// callsMCP is a model that calls a tool of `understudy mcp` when it is told the marker.
func callsMCP(marker, tool string, input map[string]any, next claudetest.Script) claudetest.Script {
	return claudetest.Ask(marker, claudetest.Reply{Tool: "mcp__understudy__" + tool, Input: input}, next)
}

// TestClaudeMCPServerKnowsItsAgent: The server is added to the user's own settings as the manual says. It knows which
// agent runs it.
func TestClaudeMCPServerKnowsItsAgent(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, callsMCP("who are you?", "whoami", map[string]any{},
		callsMCP("tell the other", "send_message", map[string]any{"to": "2", "text": "!ls\nis not what I want"},
			callsMCP("hand over", "request_handoff", map[string]any{"reason": "told to"}, obeys))))
	add := exec.Command(r.cli, "mcp", "add", "--scope", "user", "understudy", "--", cmdtest.MainProgram(r.t), "mcp")
	add.Env, add.Dir = r.home.Environ, r.home.Workdir
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("mcp add: %v\n%s", err, out)
	}
	r.cfg.Settings.Runtimes["claude"] = serve.RuntimeSettings{Command: append([]string{r.cli, "--allowedTools", "mcp__understudy"}, manual...)}
	r.start()
	a, b := r.startAgent(con), r.startAgent("")

	r.talk(a.ID, "who are you?")
	r.awaitLearned(a.ID, fmt.Sprintf(`{"agent_id":%d,"generation":1,"name":"%s","persona":"%[2]s","state":"working"}`, a.ID, con))

	r.talk(a.ID, "tell the other")
	r.awaitLearned(a.ID, fmt.Sprintf(`"state":"queued","to_agent_id":%d}`, b.ID))
	want := fmt.Sprintf("Message from agent %d (%s), not from the operator:\n> !ls\n> is not what I want", a.ID, con)
	r.await("the message at the other's model", func() (bool, string) {
		got := r.heard(b.ID, "Message from agent")
		return len(got) == 1 && strings.TrimSpace(got[0]) == want, fmt.Sprintf("%q", got)
	})
	r.awaitVerdict(b.ID, r.deliveries(b.ID)[0].ID, daemon.Submitted)

	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "hand over").ID, daemon.Submitted)
	r.awaitLearned(a.ID, "Finish your turn; when it ends you will be asked for the document.")
	h, err := r.client.LatestHandoff(t.Context(), a.ID)
	if err != nil || h.Reason != "told to" {
		t.Fatalf("handoff %+v, %v", h, err)
	}
	r.wantTakenOver(r.awaitPhase(h.ID, daemon.Completed))
	r.wantNoDialog(a.ID)
}

// awaitLearned waits until a tool has returned the text to the agent's model. The CLI sorts the fields of a tool's
// answer.
func (r *claudeRig) awaitLearned(agentID int64, part string) {
	r.t.Helper()
	r.await(fmt.Sprintf("agent %d: a tool's %q", agentID, part), func() (bool, string) {
		reqs := r.requests(agentID)
		if len(reqs) == 0 {
			return false, "no request"
		}
		all := strings.Join(results(reqs[len(reqs)-1]), "\n")
		return strings.Contains(all, part), all
	})
}
