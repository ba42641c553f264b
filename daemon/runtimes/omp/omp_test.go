package omp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func spec() runtimes.Spec {
	return runtimes.Spec{AgentID: 7, Command: []string{"bun", "/opt/omp.js"}, Dir: "/data/run/launch/7", Binary: "/usr/bin/understudy \"hook\""}
}

func TestLaunch(t *testing.T) {
	s := spec()
	s.SkillText, s.Model, s.Mode, s.Resume = "You play con.", "fake/one", "edits", "01a2019d-4978-7000-986e-d0d46bc6365f"
	l, err := Runtime.Launch(s)
	wardentest.Must(t, err)
	const dir = "/data/run/launch/7/"
	want := "bun /opt/omp.js --config " + dir + "overlay.yml --extension " + dir + "extension.ts --append-system-prompt " + dir + "system-prompt.md" +
		" --model fake/one --approval-mode write -r 01a2019d-4978-7000-986e-d0d46bc6365f"
	if got := strings.Join(l.Argv, " "); got != want || l.SessionID != s.Resume {
		t.Errorf("argv %s\nsession %s", got, l.SessionID)
	}
	files := map[string]string{}
	for _, f := range l.Files {
		files[f.Path] = string(f.Content)
	}
	if files[dir+"system-prompt.md"] != s.SkillText || !strings.Contains(files[dir+"overlay.yml"], "setupVersion") {
		t.Errorf("files %q", files)
	}
	wardentest.Holds(t, "the extension", files[dir+"extension.ts"], `const HOOK: string = "/usr/bin/understudy \"hook\"";`, `const INBOX: string = "/data/run/launch/7/inbox";`)
	if l, err = Runtime.Launch(spec()); err != nil || len(l.Files) != 2 || l.SessionID != "" {
		t.Errorf("a launch without anything has %d files, session %q, %v", len(l.Files), l.SessionID, err)
	}
}

func TestLaunchRefuses(t *testing.T) {
	for want, change := range map[string]func(*runtimes.Spec){
		"set runtimes.omp.command": func(s *runtimes.Spec) { s.Command = nil },
		"is not absolute":          func(s *runtimes.Spec) { s.Dir = "here" },
		"not a UUID":               func(s *runtimes.Spec) { s.Resume = "last" },
		"ask, edits, auto":         func(s *runtimes.Spec) { s.Mode = "plan" },
		"begins with a dash":       func(s *runtimes.Spec) { s.Model = "--yolo" },
		"NUL":                      func(s *runtimes.Spec) { s.Model = "a\x00b" },
	} {
		s := spec()
		change(&s)
		wardentest.Failed(Runtime.Launch(s))(t, "refused launch", want, "agent 7")
	}
}

func TestCheckVersion(t *testing.T) {
	for version, ok := range map[string]bool{"": true, "omp 18.2.3": true, "19.0.0": true, "100.1.2": true, "nightly": true, "0.73.1": false, "omp 17.9.9": false, "18.2.0": false, "18.2.11": true} {
		wardentest.Equal(t, version+": taken", Runtime.CheckVersion(version) == nil, ok)
	}
}

func TestFork(t *testing.T) {
	cmd := wardentest.Value(Runtime.Fork(runtimes.ForkSpec{Command: []string{"omp"}, SessionID: "x", Transcript: "/s/a.jsonl", Dir: "/l", Skill: "/l/system-prompt.md", Prompt: "Write it."}))(t)
	want := "omp --fork /s/a.jsonl --session-dir /l/fork --print --mode json --no-title --config /l/oneshot.yml --no-extensions" +
		" --extension /l/oneshot.ts --append-system-prompt /l/system-prompt.md"
	if got := strings.Join(cmd.Argv, " "); got != want || string(cmd.Stdin) != "Write it." || len(cmd.Files) != 2 {
		t.Errorf("command %s\nstdin %q, %d files", got, cmd.Stdin, len(cmd.Files))
	}
	wardentest.Failed(Runtime.Fork(runtimes.ForkSpec{Command: []string{"omp"}, SessionID: "x"}))(t, "a session without a file was forked")
	fresh, err := Runtime.Fork(runtimes.ForkSpec{Command: []string{"omp"}, Dir: "/l", Prompt: "Write it."})
	if got := strings.Join(fresh.Argv, " "); err != nil || !strings.HasPrefix(got, "omp --session-dir /l/fork --print --mode json ") {
		t.Errorf("a new session: %s, %v", got, err)
	}
}

func TestReadAnswer(t *testing.T) {
	const said = `{"type":"message_end","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"One."}],"stopReason":"stop"}}` + "\n"
	const failed = `{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"401 no\nkey"}}` + "\n"
	const end = `{"type":"agent_end","messages":[]}` + "\n"
	for _, c := range []struct{ out, texts, err string }{
		{said + `{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"no"}]}}` + "\n" + said + end, "One.|One.", ""},
		{"Warning: no JSON\n" + failed + said + end, "One.", ""},
		{said + failed + end, "", "401 no key"},
		{said, "", "it ended without a result"},
	} {
		texts, err := Runtime.ForkAnswer([]byte(c.out))
		if got := strings.Join(texts, "|"); got != c.texts || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: %q, %v", c.out, got, err)
		}
	}
}

// reported returns a report as the daemon reads it.
func reported(t *testing.T, event, body string) hooks.Payload {
	t.Helper()
	r := wardentest.Value(Runtime.Report(event, []byte(body)))(t)
	if r.Event == "" {
		return hooks.Payload{}
	}
	p, err := hooks.Parse(r.Event, r.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Event, r.Body, err)
	}
	return p
}

func TestReport(t *testing.T) {
	const about = `{"session_id":"s1","session_file":"/s.jsonl","cwd":"/w","turn_id":"t1","event":3,"at":1795323734166,"usage":{"tokens":1234,"window":100000},`
	for _, c := range []struct {
		event, body string
		want        hooks.Payload
	}{
		{"SessionStart", `"reason":"startup"`, hooks.Payload{Event: hooks.SessionStart, Source: "startup"}},
		{"PromptTaken", `"prompt":"go"`, hooks.Payload{Event: hooks.UserPromptSubmit, Prompt: "go"}},
		{"PromptTaken", `"prompt":"done","background":true`, hooks.Payload{Event: hooks.UserPromptSubmit, Prompt: "<task-notification>\ndone"}},
		{"RetryStarted", `"since":1795323700000,"error":"503 overloaded"`,
			hooks.Payload{Event: hooks.RetryStarted, Error: runtimes.Overloaded, LastAssistantMessage: "503 overloaded", Since: 1795323700000}},
		{"RetryEnded", `"x":1`, hooks.Payload{Event: hooks.RetryEnded}},
		{"TurnEnded", `"message":"OK","stop_reason":"stop","stop_hook_active":true,"jobs":2`,
			hooks.Payload{Event: hooks.Stop, LastAssistantMessage: "OK", StopHookActive: true, BackgroundTasks: 2, Tasks: make([]hooks.Task, 2)}},
		{"TurnEnded", `"stop_reason":"aborted","error":"Interrupted by user"`, hooks.Payload{Event: hooks.Interrupt}},
		{"TurnEnded", `"stop_reason":"length"`, hooks.Payload{Event: hooks.StopFailure, Error: runtimes.OutputLimit, LastAssistantMessage: "the answer reached the limit of the output"}},
		{"DialogOpened", `"tool_name":"write","tool_input":{"path":"/w/a"}`,
			hooks.Payload{Event: hooks.PermissionRequest, ToolName: "write", ToolInput: json.RawMessage(`{"file_path":"/w/a","path":"/w/a"}`)}},
		{"DialogClosed", `"reason":""`, hooks.Payload{Event: hooks.DialogClosed}},
		{"SessionEnd", `"reason":"other"`, hooks.Payload{Event: hooks.SessionEnd, Reason: "other"}},
		{"Compacting", `"reason":"auto"`, hooks.Payload{Event: hooks.PreCompact, Trigger: "auto"}},
	} {
		c.want.SessionID, c.want.TranscriptPath, c.want.CWD = "s1", "/s.jsonl", "/w"
		if c.want.Event != hooks.SessionStart {
			c.want.PromptID = "t1"
		}
		if c.want.Event != hooks.SessionStart && c.want.Event != hooks.SessionEnd {
			c.want.Context = hooks.ContextUse{Tokens: 1234, Limit: 100000}
		}
		wardentest.Equal(t, c.event+" "+c.body, reported(t, c.event, about+c.body+"}"), c.want)
	}
	wardentest.Equal(t, "an event that is not ours", reported(t, "Another", `{}`), hooks.Payload{})
	wardentest.Failed(Runtime.Report("TurnEnded", []byte(`[]`)))(t, "a body that is not an object was taken")
}

func TestReportTrouble(t *testing.T) {
	at := time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"401 fake error 401\nfake error 401 (type=fake_error param=fake_code)": runtimes.Unauthenticated,
		"400 fake error 400\nraw-http-request=/logs/1795323741464.json":        runtimes.InvalidRequest,
		"404 no such model":                     runtimes.UnknownModel,
		"429 slow down":                         runtimes.RateLimit,
		"429 slow down retry-after-ms=2000":     runtimes.RateLimit,
		"429 fake error retry-after-ms=7200000": runtimes.UsageLimit,
		"429 You have hit your usage limit.":    runtimes.UsageLimit,
		"429 You exceeded your current quota, please check your plan and billing details. (type=insufficient_quota)": runtimes.Billing,
		"500 internal":       "server_error",
		"529 Overloaded":     "overloaded",
		"the line went dead": "unknown",
	} {
		body, _ := json.Marshal(map[string]any{"stop_reason": "error", "error": text, "at": at.UnixMilli()})
		r, err := Runtime.Report("TurnEnded", body)
		if err != nil || r.Event != hooks.StopFailure {
			t.Fatalf("%s: %+v, %v", text, r, err)
		}
		var got struct {
			Error   string `json:"error"`
			Text    string `json:"last_assistant_message"`
			ResetAt int64  `json:"resets_at"`
		}
		wardentest.Must(t, json.Unmarshal(r.Body, &got))
		wantReset := int64(0)
		if strings.Contains(text, "7200000") {
			wantReset = at.Add(2 * time.Hour).Unix()
		}
		if got.Error != want || got.Text != text || got.ResetAt != wantReset {
			t.Errorf("%q is %+v, want %s, reset at %d", text, got, want, wantReset)
		}
	}
}

func TestReadLine(t *testing.T) {
	jsonl, err := os.ReadFile(filepath.Join("../testdata", "omp", "session.jsonl"))
	wardentest.Must(t, err)
	if !Runtime.Prompted(jsonl) || !Runtime.TranscriptContains(jsonl, "[nonce1]") || Runtime.TranscriptContains(jsonl, "Answer: ok.") {
		t.Error("the prompt is not found, or the answer is taken for one")
	}
	if at := time.Date(2026, 11, 22, 4, 57, 0, 0, time.UTC); !Runtime.TranscriptHasPrompt(jsonl, "[nonce1] first  prompt", at.Before) || Runtime.TranscriptHasPrompt(jsonl, "[nonce1] first prompt", at.Add(time.Minute).Before) {
		t.Error("the prompt's time is wrong")
	}
	var entries []runtimes.Entry
	for line := range strings.Lines(string(jsonl)) {
		e := wardentest.Value(Runtime.ParseEntry([]byte(line)))(t)
		if e.Role != "" {
			entries = append(entries, e)
		}
	}
	if len(entries) != 2 || entries[0].Role != "user" || entries[0].Text != "[nonce1] first prompt" ||
		entries[1].Role != "assistant" || entries[1].Text != "Answer: ok." || entries[1].Used != 1234 || entries[1].MessageID != "7771ceb2" {
		t.Errorf("entries %+v", entries)
	}
}

func TestReadLineKinds(t *testing.T) {
	const at = `"timestamp":"2026-11-22T05:00:00.000Z",`
	for _, c := range []struct {
		name, line string
		want       func(runtimes.Entry) bool
	}{
		{"a write", `{"type":"message",` + at + `"message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"write","arguments":{"path":"/w/a","content":"x"}}],"usage":{"input":5,"cacheRead":7,"cacheWrite":1,"output":9}}}`,
			func(e runtimes.Entry) bool {
				return len(e.Edited) == 1 && e.Edited[0] == runtimes.Edit{Path: "/w/a", Call: "c1"} && e.Used == 13 && e.Role == ""
			}},
		{"a refused call", `{"type":"message",` + at + `"message":{"role":"toolResult","toolCallId":"c1","toolName":"write","isError":true,"content":[{"type":"text","text":"denied"}]}}`,
			func(e runtimes.Entry) bool { return len(e.Failed) == 1 && e.Failed[0] == "c1" && e.Text == "" }},
		{"an error", `{"type":"message",` + at + `"message":{"role":"assistant","content":[{"type":"text","text":"half"}],"stopReason":"error"}}`,
			func(e runtimes.Entry) bool { return e.Role == "" }},
		{"our instruction", `{"type":"custom_message","customType":"session-stop-continuation",` + at + `"content":"[handoff_1] understudy: hand over your work","display":false}`,
			func(e runtimes.Entry) bool { return e.Ours && e.Role == "" && strings.HasPrefix(e.Text, "[handoff_1]") }},
		{"a reminder", `{"type":"custom_message","customType":"todo",` + at + `"content":[{"type":"text","text":"three todos are open"}]}`,
			func(e runtimes.Entry) bool { return !e.Ours && e.Role == "" }},
		{"a compaction", `{"type":"compaction",` + at + `"summary":"We fixed the roof.","tokensBefore":40007,"tokensAfter":15705}`,
			func(e runtimes.Entry) bool {
				return e.Role == "user" && e.Text == "We fixed the roof." && e.Compacted && e.Used == 15705
			}},
		{"a title", `{"type":"title","title":"x","pad":"   "}`, func(e runtimes.Entry) bool { return e.Role == "" && e.Text == "" }},
	} {
		if e, err := Runtime.ParseEntry([]byte(c.line)); err != nil || !c.want(e) {
			t.Errorf("%s is read as %+v, %v", c.name, e, err)
		}
	}
	work := `{"type":"message",` + at + `"message":{"role":"user","content":"more work"}}` + "\n"
	note := `{"type":"custom_message",` + at + `"content":"three todos are open"}` + "\n"
	since := time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)
	if !Runtime.PromptedAfter([]byte(note+work), "", since, nil, since) || Runtime.PromptedAfter([]byte(note), "", since, nil, since) {
		t.Error("a prompt is not work, or a note of the CLI is")
	}
}
