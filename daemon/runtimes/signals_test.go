package runtimes

import (
	"strings"
	"testing"
)

func TestParseRegistry(t *testing.T) {
	t.Parallel()
	const entry = `{"pid":27700,"sessionId":"2c388fc5-7400-4d26-a96e-14238c0c6a09","cwd":"/home/dev/work","kind":"interactive",
		"tmux":"0:@0.%0","name":"developer-con-1","status":"waiting","waitingFor":"permission prompt","updatedAt":1795192594428}`
	got, err := ParseRegistry([]byte(entry))
	want := Registry{PID: 27700, SessionID: "2c388fc5-7400-4d26-a96e-14238c0c6a09", Status: StatusWaiting,
		WaitingFor: "permission prompt", Cwd: "/home/dev/work", Tmux: "0:@0.%0", Name: "developer-con-1"}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	// A session that is starting has no status yet; a later version may have others.
	for _, s := range []string{`{"pid":1,"sessionId":"x"}`, `{"pid":1,"sessionId":"x","status":"dreaming"}`} {
		if got, err := ParseRegistry([]byte(s)); err != nil || got.Status != StatusUnknown {
			t.Errorf("%s: %+v, %v", s, got, err)
		}
	}
	// One that runs nothing but commands in the background has no turn.
	if got, err := ParseRegistry([]byte(`{"pid":1,"sessionId":"x","status":"shell"}`)); err != nil || got.Status != StatusIdle {
		t.Errorf("with a command in the background: %+v, %v", got, err)
	}
	for _, s := range []string{"", "{", "null", "[]", `{"pid":0,"sessionId":"x"}`, `{"pid":1}`, entry[:200]} {
		if got, err := ParseRegistry([]byte(s)); err == nil {
			t.Errorf("%q: no error, %+v", s, got)
		}
	}
	if got := RegistryPath("/c", 12); got != "/c/sessions/12.json" {
		t.Error(got)
	}
}

func TestConfigDir(t *testing.T) {
	t.Parallel()
	env := func(kv ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(kv); i += 2 {
				if kv[i] == name {
					return kv[i+1]
				}
			}
			return ""
		}
	}
	if got := ConfigDir(env("HOME", "/h", "CLAUDE_CONFIG_DIR", "/c")); got != "/c" {
		t.Error(got)
	}
	if got := ConfigDir(env("HOME", "/h")); got != "/h/.claude" {
		t.Error(got)
	}
	if got := ConfigDir(env()); got != "" {
		t.Error(got)
	}
	for path, want := range map[string]string{
		"/h/.claude/projects/-home-dev/2c388fc5.jsonl": "/h/.claude",
		"/h/.claude/projects/2c388fc5.jsonl":           "",
		"/h/.claude/projects/-home-dev/2c388fc5.json":  "",
		"projects/x/y.jsonl":                           "",
		"":                                             "",
	} {
		if got := ConfigDirOfTranscript(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// The lines have the shapes that the real CLI writes.
func TestTranscriptContains(t *testing.T) {
	t.Parallel()
	const nonce = "n-7f3a"
	prompt := `{"parentUuid":null,"isSidechain":false,"promptId":"p","type":"user","message":{"role":"user","content":"do n-7f3a now"},"uuid":"u"}`
	for name, tt := range map[string]struct {
		jsonl string
		want  bool
	}{
		"prompt":             {prompt + "\n", true},
		"last line open":     {`{"type":"mode"}` + "\n" + prompt, true},
		"first line cut":     {prompt[20:] + "\n" + prompt + "\n", true},
		"only cut":           {prompt[20:], false},
		"half written":       {prompt[:100], false},
		"blocks":             {`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"n-7f3a"}]}}`, true},
		"stop hook":          {`{"type":"user","isMeta":true,"message":{"role":"user","content":"Stop hook feedback:\n[n-7f3a] write"}}`, true},
		"put into a turn":    {`{"type":"attachment","attachment":{"type":"queued_command","prompt":"n-7f3a","commandMode":"prompt"}}`, true},
		"another":            {strings.ReplaceAll(prompt, nonce, "n-0000"), false},
		"said by the model":  {`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"n-7f3a"}]}}`, false},
		"read by a tool":     {`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"n-7f3a"}]}}`, false},
		"told to a subagent": {`{"type":"user","isSidechain":true,"message":{"role":"user","content":"n-7f3a"}}`, false},
		"queued":             {`{"type":"queue-operation","operation":"enqueue","content":"n-7f3a"}`, false},
		"hook output":        {`{"type":"attachment","attachment":{"type":"hook_success","stdout":"n-7f3a"}}`, false},
		"no JSON":            {"n-7f3a\nnull n-7f3a\n", false},
		"empty":              {"", false},
	} {
		if got := TranscriptContains([]byte(tt.jsonl), nonce); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if TranscriptContains([]byte(prompt), "") {
		t.Error("an empty nonce is in everything")
	}
}

func TestIsCommandText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"/exit": true, " /help me": true, "!ls": true, "\n! ls": true, "exit": true, " quit \n": true, ":wq": true, ":q": true,
		"": false, "exit the loop": false, "Exit": false, "# a heading": false, "see /etc": false, "-rf": false,
	} {
		if IsCommandText(text) != want {
			t.Errorf("%q is not %v", text, want)
		}
	}
}

func TestSafePrompt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hello":        "hello",
		" hello \n":    "hello",
		`C:\`:          `C:\ `,
		"look at @src": "look at @src ",
		"@":            "@ ",
		"a@b.example":  "a@b.example",
		"@src please":  "@src please",
	} {
		if got, err := SafePrompt(text); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " \n", "/exit", "!rm", "quit"} {
		if got, err := SafePrompt(text); err == nil {
			t.Errorf("%q: no error, %q", text, got)
		}
	}
}

func TestMatchesPrompt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hook, typed string
		want        bool
	}{
		"equal":        {"do it", "do it", true},
		"trimmed":      {"do it", " do it \n", true},
		"after draft":  {"a draft do it", "do it", true},
		"tab":          {"a    b", "a\tb", true},
		"line ends":    {"a\nb", "a\r\nb", true},
		"pasted":       {"\n\n<pasted_content id=\"c2ff\">\na\nb\nc\nd\n</pasted_content id=\"c2ff\">\n", "a\nb\nc\nd", true},
		"pasted in it": {"see\n<pasted_content id=\"c2ff\">\na\n</pasted_content id=\"c2ff\">", "see a", true},
		"quoted":       {"Noted: <pasted_content id=\"c2ff\"> a … go on", "Noted: <pasted_content id=\"c2ff\"> a … go on", true},
		"other":        {"do that", "do it", false},
		"cut off":      {"do", "do it", false},
		"nothing":      {"do it", " ", false},
	} {
		if got := MatchesPrompt(tt.hook, tt.typed); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFitsTyped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"empty": {"", true}, "800": {strings.Repeat("x", 800), true}, "801": {strings.Repeat("x", 801), false},
		"two bytes each": {strings.Repeat("é", 800), true}, "emoji count twice": {strings.Repeat("😀", 401), false},
		"three lines": {"a\nb\nc", true}, "four lines": {"a\nb\nc\nd", false}, "broken UTF-8": {"\xff", true},
	} {
		if FitsTyped(tt.text) != tt.want {
			t.Errorf("%s: not %v", name, tt.want)
		}
	}
}
