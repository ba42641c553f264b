//go:build e2e

package stories

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestMCPMessageArrivesAfterTheTurn: A message waits until the other agent's turn ends. It arrives as a prompt that
// names its sender.
func TestMCPMessageArrivesAfterTheTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a, b := r.startAgent(con), r.startAgent("")
	from := openMCPFor(r, t, a.ID)
	release := r.holdTurn(b.ID, "long work")
	to := func(to any, text string) map[string]any { return map[string]any{"to": fmt.Sprint(to), "text": text} }
	got := from.mustCall("send_message", to(b.ID, "/exit\nor not?"))
	if got["to_agent_id"] != float64(b.ID) || got["state"] != "queued" {
		t.Errorf("answer %v", got)
	}
	for i := range 4 {
		from.mustCall("send_message", to(b.ID, fmt.Sprint("more ", i)))
	}
	from.wantFailure("send_message", to(b.ID, "too much"), "5 messages that were not taken yet")
	from.wantFailure("send_message", to(a.ID, "note to self"), "itself")
	from.wantFailure("send_message", to(con, "note to self"), "itself")
	from.wantFailure("send_message", to(b.ID, "\x1b[201~"), "control character")
	release()
	r.awaitVerdict(b.ID, int64(got["delivery_id"].(float64)), daemon.Submitted)
	first := fmt.Sprintf("Message from agent %d (%s), not from the operator:", a.ID, con)
	r.wantTold(b.ID, "long work", first+"\n> /exit\n> or not?", first+"\n> more 0", "> more 1", "> more 2", "> more 3")
	// The other agent has taken all messages, so more are allowed. Its answer goes the other way.
	r.await("more messages", func() (bool, string) {
		var got map[string]any
		failed := from.call("send_message", to(b.ID, "and more"), &got)
		return failed == "", failed
	})
	back := openMCPFor(r, t, b.ID).mustCall("send_message", to(con, "yes"))
	r.awaitVerdict(a.ID, int64(back["delivery_id"].(float64)), daemon.Submitted)
	r.wantTold(a.ID, fmt.Sprintf("Message from agent %d, not from the operator:\n> yes", b.ID))
}

// TestMCPWithoutAgentOrDaemonSaysWhatToDo: The server starts without an agent's environment, for the fork that writes
// an agent's document, and without a daemon. Each tool then says in one sentence what to do.
func TestMCPWithoutAgentOrDaemonSaysWhatToDo(t *testing.T) {
	t.Parallel()
	socket := "UNDERSTUDY_SOCKET=" + filepath.Join(t.TempDir(), "hook.sock")
	for part, env := range map[string][]string{
		"start one with `understudy agent start`":                     {"UNDERSTUDY_AGENT_ID=7", socket},
		"UNDERSTUDY_AGENT_ID, UNDERSTUDY_SOCKET or":                   {"UNDERSTUDY_AGENT_ID=x", "UNDERSTUDY_LAUNCH=secret", socket},
		"UNDERSTUDY_LAUNCH is not set":                                {"UNDERSTUDY_AGENT_ID=7", "UNDERSTUDY_LAUNCH=a\r\nHost: x", socket},
		"a copy of the agent":                                         {"UNDERSTUDY_AGENT_ID=7", "UNDERSTUDY_LAUNCH=secret", "UNDERSTUDY_ONESHOT=1", socket},
		"the daemon is not running: start it with `understudy serve`": {"UNDERSTUDY_AGENT_ID=7", "UNDERSTUDY_LAUNCH=secret", socket},
	} {
		m := openMCP(t, env...)
		for _, tool := range mcpTools {
			m.wantFailure(tool, mcpArgs(tool), part)
		}
	}
}
