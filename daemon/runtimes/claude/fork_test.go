package claude

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

const forkID = "0b1f8c7e-6a54-4d3e-9f21-1c2d3e4f5a6b"

func TestFork(t *testing.T) {
	t.Parallel()
	cmd := value(Runtime.Fork(runtimes.ForkSpec{Command: []string{"claude", "--fixed"}, SessionID: forkID, SettingsJSON: `{"a":1}`, Prompt: "why?"}))(t)
	want := strings.Fields("claude --fixed -p --resume " + forkID + ` --fork-session --no-session-persistence --output-format stream-json --verbose --permission-mode dontAsk --settings {"a":1}`)
	if !slices.Equal(cmd.Argv, want) || string(cmd.Stdin) != "why?" {
		t.Errorf("argv %q, stdin %q", cmd.Argv, cmd.Stdin)
	}
	for _, bad := range []runtimes.ForkSpec{{SessionID: forkID}, {Command: []string{"claude"}, SessionID: "--help"}} {
		wardentest.Failed(Runtime.Fork(bad))(t, fmt.Sprintf("%+v", bad))
	}
}

// TestForkAnswer reads streams as Claude Code 2.1.329 prints them.
func TestForkAnswer(t *testing.T) {
	t.Parallel()
	const (
		start = `{"type":"system","subtype":"init","session_id":"x"}` + "\n"
		ended = `{"type":"result","subtype":"success","is_error":false,"result":"Second."}` + "\n"
	)
	say := func(id, text string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","content":[{"type":"text","text":"` + text + `"}]},"parent_tool_use_id":null}` + "\n"
	}
	const call = `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","name":"Bash","input":{}}]},"parent_tool_use_id":null}` + "\n"
	const denied = `{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":"denied"}]}}` + "\n"
	for what, c := range map[string]struct{ in, text, err string }{
		"one block":            {start + say("m1", "Only.") + ended, "Only.", ""},
		"two blocks":           {start + say("m1", "First.") + say("m1", "Second.") + ended, "First.\nSecond.", ""},
		"after a denied call":  {start + say("m1", "Let me look.") + call + denied + say("m2", "The document.") + ended, "Let me look. | The document.", ""},
		"nothing said":         {start + `{"type":"result","subtype":"success","is_error":false,"result":""}`, "", ""},
		"blank":                {start + say("m1", "  ") + ended, "", ""},
		"a sub-agent's words":  {start + say("m1", "Mine.") + strings.Replace(say("s1", "Its."), "null", `"toolu_1"`, 1) + ended, "Mine.", ""},
		"an API error":         {start + `{"type":"assistant","is_api_error_message":true,"message":{"id":"m1","content":[{"type":"text","text":"API Error: 400"}]}}` + "\n" + `{"type":"result","subtype":"success","is_error":true,"result":"API Error: 400 no such thing"}`, "", "API Error: 400 no such thing"},
		"an unknown session":   {`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]}`, "", "No conversation found"},
		"out of turns":         {start + say("m1", "x") + `{"type":"result","subtype":"error_max_turns","is_error":false}`, "", "error_max_turns"},
		"cut off":              {start + say("m1", "Half a"), "", "it ended without a result"},
		"nothing":              {"", "", "it ended without a result"},
		"a line that is noise": {"warning: x\n" + start + say("m1", "Fine.") + ended, "Fine.", ""},
	} {
		texts, err := Runtime.ForkAnswer([]byte(c.in))
		if text, got := strings.Join(texts, " | "), errText(err); text != c.text || got != c.err {
			t.Errorf("%s: %q, %q; want %q, %q", what, text, got, c.text, c.err)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
