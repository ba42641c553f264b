//go:build e2e

package stories

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
)

// TestMCPMessageArrivesAfterTheTurn: A message waits until the other agent's turn ends. It arrives as a prompt that
// names its sender.
func TestMCPMessageArrivesAfterTheTurn(t *testing.T) {
	t.Parallel()
	r := withShells(newRig(t)).start()
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

// mcpSession is the official client, connected to a process `understudy mcp`.
type mcpSession struct {
	t *testing.T
	*mcp.ClientSession
}

// openMCP runs `understudy mcp` in an environment. At the test's end its stdin is closed, and it must then end by
// itself with nothing on stderr.
func openMCP(t *testing.T, env ...string) *mcpSession {
	t.Helper()
	cmd := exec.Command(cmdtest.MainProgram(t), "mcp")
	cmd.Env = append(env, "GORACE=atexit_sleep_ms=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	session := connectMCP(t, &mcp.CommandTransport{Command: cmd, TerminateDuration: cmdtest.Eventually})
	t.Cleanup(func() {
		if err := session.Close(); err != nil || !cmd.ProcessState.Success() || stderr.Len() > 0 {
			t.Errorf("end of the server: %v, %v, stderr %q", err, cmd.ProcessState, &stderr)
		}
	})
	return session
}

func connectMCP(t *testing.T, transport mcp.Transport) *mcpSession {
	t.Helper()
	session := value(mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), transport, nil))(t)
	return &mcpSession{t, session}
}

// openMCPFor has the agent run the server, as its CLI would.
func openMCPFor(r *rig, t *testing.T, agentID int64) *mcpSession {
	t.Helper()
	dir := t.TempDir()
	open := func(name string) *os.File {
		path := filepath.Join(dir, name)
		must(t, syscall.Mkfifo(path, 0o600))
		f := value(os.OpenFile(path, os.O_RDWR, 0))(t) // does not wait for the other end
		return f
	}
	in, out := open("in"), open("out")
	startInside(r, agentID, fmt.Sprintf("%s <'%s' >'%s'", understudyLine(r, "mcp"), in.Name(), out.Name()))
	session := connectMCP(t, &mcp.IOTransport{Reader: out, Writer: in})
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// call calls a tool. failed is the sentence of its error.
func (m *mcpSession) call(tool string, args map[string]any, into any) (failed string) {
	m.t.Helper()
	result, err := m.CallTool(m.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		m.t.Fatalf("%s: %v", tool, err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if result.IsError {
		return text
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		m.t.Fatalf("%s: %q: %v", tool, text, err)
	}
	return ""
}

// mustCall calls a tool that must not fail.
func (m *mcpSession) mustCall(tool string, args map[string]any) (got map[string]any) {
	m.t.Helper()
	if failed := m.call(tool, args, &got); failed != "" {
		m.t.Fatalf("%s: %s", tool, failed)
	}
	return got
}

// wantFailure calls a tool that must fail with a sentence that contains the part.
func (m *mcpSession) wantFailure(tool string, args map[string]any, part string) {
	m.t.Helper()
	var got map[string]any
	if failed := m.call(tool, args, &got); !strings.Contains(failed, part) || strings.Contains(failed, "\n") || strings.Contains(failed, "dial unix") {
		m.t.Errorf("%s answers %v and fails with %q, want one sentence, without its cause, with %q", tool, got, failed, part)
	}
}

var mcpTools = []string{"handoff_status", "list_personas", "request_handoff", "send_message", "whoami"}

// mcpArgs are the arguments without which a tool cannot be called.
func mcpArgs(tool string) map[string]any {
	if tool == "send_message" {
		return map[string]any{"to": "1", "text": "hello"}
	}
	return nil
}

// TestMCPAgentRequestsItsOwnHandoff: An agent sees itself and the other agents, and requests its own handoff in the
// middle of a turn. After it has ended, its tools say so.
func TestMCPAgentRequestsItsOwnHandoff(t *testing.T) {
	t.Parallel()
	r := withShells(newRig(t)).start()
	a := r.startAgent(con)
	environ := launchFile(r, a.ID).Env
	m := openMCPFor(r, t, a.ID)
	list := value(m.ListTools(t.Context(), nil))(t)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	equal(t, "tools", names, mcpTools)
	if got := m.mustCall("whoami", nil); got["agent_id"] != float64(a.ID) || got["persona"] != con || got["generation"] != 1.0 || got["state"] != "idle" {
		t.Errorf("whoami: %v", got)
	}
	if got := m.mustCall("handoff_status", nil); got["status"] != "none" {
		t.Errorf("status before there is one: %v", got)
	}
	m.wantFailure("request_handoff", nil, "Nothing to hand off")
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "some work").ID, daemon.Submitted)
	release := r.holdTurn(a.ID, "long work")
	got := m.mustCall("request_handoff", map[string]any{"reason": "context nearly full", "focus": "the parser"})
	holds(t, "the request", got["next"].(string), "Finish your turn")
	m.wantFailure("request_handoff", nil, "Handoff already in progress")
	id := int64(got["handoff_id"].(float64))
	r.awaitNote(id, noteBusyPart)
	if got = m.mustCall("handoff_status", nil); got["handoff_id"] != float64(id) || got["status"] != "in_progress" || !strings.Contains(got["next"].(string), "Finish your turn") {
		t.Errorf("status while the turn goes on: %v", got)
	}
	release()
	h := r.awaitPhase(id, daemon.Completed)
	if h.Reason != "context nearly full" || h.Focus != "the parser" || h.Mode != daemon.ModeAgent {
		t.Errorf("handoff %+v", h)
	}
	late := openMCP(t, environ...)
	for _, tool := range mcpTools {
		late.wantFailure(tool, mcpArgs(tool), "The agent of this launch has ended")
	}
	next := openMCPFor(r, t, *h.SuccessorID)
	if got = next.mustCall("whoami", nil); got["generation"] != 2.0 || got["previous_agent_id"] != float64(a.ID) {
		t.Errorf("whoami of the successor: %v", got)
	}
	if personas := fmt.Sprint(next.mustCall("list_personas", nil)["personas"]); !strings.Contains(personas, fmt.Sprintf("map[id:%d name:%s state:", *h.SuccessorID, con)) ||
		strings.Contains(personas, fmt.Sprintf("id:%d ", a.ID)) {
		t.Errorf("personas %s", personas)
	}
}
