package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/gemini"
	"github.com/understudyd/understudy/daemon/runtimes/opencode"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestOneShotsAskNewSessionsAlone: OpenCode's server copies sessions, and Gemini CLI cannot. Both ask a new one, in a folder of
// the launch and with no file of the user's but what the home of a launch shares.
func TestOneShotsAskNewSessionsAlone(t *testing.T) {
	t.Parallel()
	for _, rt := range []*runtimes.Runtime{opencode.Runtime, gemini.Runtime} {
		spec := runtimes.ForkSpec{Command: []string{"cli"}, Dir: "/launch", Prompt: "write it"}
		spec.User = runtimes.UserHome{Path: "/user", Settings: []byte(`{"hooksConfig":{"enabled":true},"theme":"x"}`), Names: []string{"projects.json", "tmp", "GEMINI.md"}}
		cmd, err := rt.Fork(spec)
		if err != nil || cmd.Dir != "/launch/oneshot" || string(cmd.Stdin) != "write it" {
			t.Fatalf("%s: %+v, %v", rt.Name, cmd, err)
		}
		for _, f := range cmd.Files {
			if !strings.HasPrefix(f.Path, "/launch/oneshot/") {
				t.Errorf("%s writes %s", rt.Name, f.Path)
			}
		}
		for _, l := range cmd.Links {
			if slices.Contains([]string{"/user/.gemini/tmp", "/user/.gemini/history", "/user/.gemini/projects.json"}, l.Target) {
				t.Errorf("%s would write to %s", rt.Name, l.Target)
			}
		}
		if spec.SessionID = "s1"; rt == opencode.Runtime {
			spec.SessionID = "ses_1"
		}
		wardentest.Failed(rt.Fork(spec))(t, fmt.Sprintf("%s copies a session by a one-shot", rt.Name))
		wardentest.Failed(rt.Fork(runtimes.ForkSpec{Dir: "/launch"}))(t, fmt.Sprintf("%s without a command", rt.Name))
	}
	if gemini.Runtime.Can.Copies() || !opencode.Runtime.Can.Copies() {
		t.Error("Gemini CLI cannot copy a session, and OpenCode can")
	}
	cmd := value(gemini.Runtime.Fork(runtimes.ForkSpec{Command: []string{"cli"}, Dir: "/launch", User: runtimes.UserHome{Settings: []byte(`{"hooksConfig":{"enabled":true},"theme":"x"}`)}}))(t)
	equal(t, "settings", string(cmd.Files[0].Content), `{"adminPolicyPaths":["/launch/oneshot/policy.toml"],"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},"hooksConfig":{"enabled":false},"theme":"x"}`)
}

// TestOneShotAnswers: the texts of a one-shot's output, or why there are none.
func TestOneShotAnswers(t *testing.T) {
	t.Parallel()
	const step = `{"type":"step_finish","part":{"reason":"stop"}}` + "\n"
	text := func(message, text string) string {
		return `{"type":"text","part":{"messageID":"` + message + `","text":"` + text + `"}}` + "\n"
	}
	for _, c := range []struct {
		rt        *runtimes.Runtime
		out       string
		want, err string
	}{
		{opencode.Runtime, text("m1", "One") + text("m1", "two") + text("m2", "Three") + step, "One\ntwo|Three", ""},
		{opencode.Runtime, text("m1", "One"), "", "it ended without a result"},
		{opencode.Runtime, text("m1", "One") + `{"type":"step_finish","part":{"reason":"tool-calls"}}`, "", "it ended without a result"},
		{opencode.Runtime, `{"type":"error","error":{"name":"APIError","data":{"message":"no key"}}}`, "", "no key"},
		{opencode.Runtime, "a line\n" + step, "", ""},
		{gemini.Runtime, `{"session_id":"s","response":"# Handoff\n","stats":{}}`, "# Handoff\n", ""},
		{gemini.Runtime, "Loaded\n{\n \"response\": \"One\"\n}", "One", ""},
		{gemini.Runtime, `{"session_id":"s","error":{"type":"Error","message":"no key","code":1}}`, "", "no key"},
		{gemini.Runtime, `{"session_id":"s"}`, "", "it ended without a result"},
		{gemini.Runtime, "", "", "it ended without a result"},
		{gemini.Runtime, `{"response":" "}`, "", ""},
	} {
		texts, err := c.rt.ForkAnswer([]byte(c.out))
		if got := strings.Join(texts, "|"); got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s %q: %q, %v", c.rt.Name, c.out, got, err)
		}
	}
}
