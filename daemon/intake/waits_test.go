package intake

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/hooks"
)

// TestWaitsForReadsAsItIsWritten: no hidden character makes what an agent asks for look like something else.
func TestWaitsForReadsAsItIsWritten(t *testing.T) {
	t.Parallel()
	p := hooks.Payload{ToolName: "Bash", ToolInput: []byte(`{"command": "rm \u202e-rf\u2069 /\u061csrv\n\u001b[2J; ls 👩\u200d💻"}`)}
	equal(t, "waitsFor(p)", waitsFor(p), "permission for Bash: rm -rf /srv [2J; ls 👩\u200d💻")
}

// TestEachPermissionRequestIsTold, also if no hook reported the end of the dialog before. A notification of the same
// dialog is not told.
func TestEachPermissionRequestIsTold(t *testing.T) {
	t.Parallel()
	a := &daemon.Agent{ID: 7, Name: "a", State: daemon.Working}
	told := func(name, tool, input string) (texts []string) {
		h := &hookStep{Facts: *New(engine.Config{}).Facts(), tx: daemon.HookTx{Agent: a}}
		h.p.Event, h.p.ToolName, h.p.Message, h.p.ToolInput = name, tool, "Claude needs your permission", []byte(input)
		h.beginWaiting()
		for _, e := range h.out.Change.Events {
			if e.Type != "agent_waiting" || e.Notice != event.NoticeWaiting {
				t.Errorf("event %s, notice %q", e.Type, e.Notice)
			}
			texts = append(texts, string(e.Payload))
		}
		return texts
	}
	for _, command := range []string{"ls", "rm -rf /"} {
		texts := told("PermissionRequest", "Bash", `{"command": "`+command+`"}`)
		if want := "permission for Bash: " + command; a.State != daemon.Waiting || a.WaitsFor != want || len(texts) != 1 || !strings.Contains(texts[0], want) {
			t.Errorf("%s: %s for %q, told %q", command, a.State, a.WaitsFor, texts)
		}
	}
	if texts := told("Notification", "", "{}"); len(texts) != 0 || a.WaitsFor != "permission for Bash: rm -rf /" {
		t.Errorf("a notification: %q, told %q", a.WaitsFor, texts)
	}
	if a.Be(daemon.Working, a.StateAt); a.WaitsFor != "" {
		t.Errorf("at work it still waits for %q", a.WaitsFor)
	}
}

// TestAnswerWith: `agent dialog` is recommended only where the choices of the dialog may be read.
func TestAnswerWith(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runtime, asks string
		here          bool
	}{
		{"claude", "trust in this folder", true}, {"claude", "permission for Bash: ls", true}, {"codex", "permission", true}, {"gemini", "a folder", true},
		{"claude", "transcript view", false}, {"claude", "agents view", false}, {"claude", daemon.WaitsForFg, false},
		{"opencode", "permission", false}, {"aider", "permission", false},
	} {
		a := &daemon.Agent{ID: 7, Name: "a", Runtime: c.runtime, State: daemon.Waiting, WaitsFor: c.asks, AgentPane: daemon.AgentPane{Pane: new("%1")}}
		for _, text := range []string{views.AnswerWith(a), views.AgentNeeds(a, nil, false, "").Next} {
			if strings.Contains(text, "understudy agent dialog 7") != c.here || !strings.Contains(text, "understudy agent attach 7") {
				t.Errorf("%s, %s: %q", c.runtime, c.asks, text)
			}
		}
	}
}

// TestSpooledHooksOfATurnThatHasEnded: the end of a turn was read from the transcript while its hooks lay in the spool. They change nothing:
// no other end of that turn will come. A sub-agent may still ask, and a prompt of later begins a turn.
func TestSpooledHooksOfATurnThatHasEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		event  string
		fields map[string]any
		late   bool // the hook is from after the end
		want   daemon.AgentState
	}{
		{event: "PermissionRequest", want: daemon.Idle},
		{event: "PermissionRequest", fields: map[string]any{"agent_id": "sub"}, want: daemon.Waiting},
		{event: "PermissionRequest", late: true, want: daemon.Waiting},
		{event: "Notification", fields: map[string]any{"notification_type": "permission_prompt", "message": "May I?"}, want: daemon.Idle},
		{event: "Notification", fields: map[string]any{"notification_type": "agent_needs_input", "message": "May I?"}, want: daemon.Idle},
		{event: "UserPromptSubmit", fields: map[string]any{"prompt": "mend the roof"}, want: daemon.Idle},
		{event: "UserPromptSubmit", fields: map[string]any{"prompt": "mend the roof"}, late: true, want: daemon.Working},
	} {
		h := hookedAgent(t)
		h.replayed = true
		if !c.late {
			h.agent.StateAt = h.at.Add(time.Hour)
		}
		fields := map[string]any{"session_id": "S", "tool_name": "Bash", "tool_input": map[string]any{"command": "ls"}}
		maps.Copy(fields, c.fields)
		h.takes(c.event, fields)
		equal(t, fmt.Sprint(c.event, ", ", c.fields, ", late ", c.late, ": the agent is"), h.agent.State, c.want)
	}
}

// TestDialogThatFollowsIsNamed: our own report that another dialog follows names it, and tells people. A runtime's Notification does not: it
// comes after the hook of the same dialog, and says less.
func TestDialogThatFollowsIsNamed(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{sight.DialogFollows: "trust the folder", "permission_prompt": "permission for Bash: ls"} {
		h := hookedAgent(t)
		h.agent.Runtime = "codex"
		h.takes("PermissionRequest", map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "ls"}})
		events := h.takes("Notification", map[string]any{"notification_type": kind, "message": "trust the folder"})
		if h.agent.State != daemon.Waiting || h.agent.WaitsFor != want || (len(events) > 0) != (kind == sight.DialogFollows) {
			t.Errorf("%s: %s for %q, %d events", kind, h.agent.State, h.agent.WaitsFor, len(events))
		}
	}
}
