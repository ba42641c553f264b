package gemini

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

const session = "0220771c-41d7-462a-90eb-109748196fb5"

func TestLaunch(t *testing.T) {
	spec := runtimes.Spec{
		AgentID: 7, SessionID: session, Command: []string{"gemini"}, Binary: "/opt/it's/hook", Dir: "/d/launch/7",
		User:  runtimes.UserHome{Path: "/u", Names: []string{"settings.json", "projects.json", "tmp", "projects.json.lock"}, Env: []string{"A=b"}, Settings: []byte(ownSettings)},
		Model: "m", Mode: "edits", SkillText: "Be <kind>.", MayEdit: []string{"/d/con/handoffs/", "/d/con/experience.md"}, MayRead: []string{"/d/old/a.md"},
	}
	l, err := Runtime.Launch(spec)
	wardentest.Must(t, err)
	want := []string{"gemini", "--session-id", session, "-m", "m", "--approval-mode", "auto_edit"}
	if !slices.Equal(l.Argv, want) || l.SessionID != session {
		t.Errorf("argv %q of session %s, want %q", l.Argv, l.SessionID, want)
	}
	if !slices.Contains(l.Env, "GEMINI_CLI_NO_RELAUNCH=true") || !slices.Contains(l.Env, "GEMINI_CLI_HOME=/d/launch/7/gemini") || !slices.Contains(l.Env, "A=b") {
		t.Errorf("environment %q", l.Env)
	}
	files := map[string]string{}
	for _, f := range l.Files {
		files[f.Path] = string(f.Content)
	}
	var settings struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
		Context          struct{ IncludeDirectories []string }
		General          map[string]bool
		AdminPolicyPaths []string
	}
	wardentest.Must(t, json.Unmarshal([]byte(files["/d/launch/7/gemini/.gemini/settings.json"]), &settings))
	if start := settings.Hooks["SessionStart"][1].Hooks; len(start) != 2 || settings.Hooks["SessionStart"][0].Hooks[0].Command != "mine" || start[0].Command != "cat '/d/launch/7/gemini/skill.json'" ||
		start[1].Command != `'/opt/it'\''s/hook' hook --runtime gemini SessionStart` {
		t.Errorf("hooks of SessionStart: %q", start)
	}
	if _, ok := settings.Hooks["PreCompress"]; ok || len(settings.Hooks) != len(events) {
		t.Errorf("hooks %v", settings.Hooks)
	}
	if got := settings.Context.IncludeDirectories; !slices.Equal(got, []string{"~/mine", "/d/con/handoffs", "/d/con", "/d/old"}) || !settings.General["vimMode"] {
		t.Errorf("folders %q, general %v", got, settings.General)
	}
	if !strings.Contains(files["/d/launch/7/gemini/skill.json"], "additionalContext") || len(settings.AdminPolicyPaths) != 1 ||
		files[settings.AdminPolicyPaths[0]] == "" {
		t.Errorf("files %q", files)
	}
	wantLinks(t, l.Links)
	spec.Resume = "11111111-2222-4333-8444-001795323436"
	if l, err = Runtime.Launch(spec); err != nil || !slices.Equal(l.Argv[:3], []string{"gemini", "--resume", spec.Resume}) || l.SessionID != spec.Resume {
		t.Errorf("resumed by %q with session %s, %v", l.Argv, l.SessionID, err)
	}
}

const ownSettings = `{ // the user's
	"general": {"vimMode": true, /* "a" */ "enableAutoUpdate": true},
	"context": {"includeDirectories": ["~/mine"]}, "hooks": {"SessionStart": [{"hooks": [{"command": "mine"}]}]}}`

// wantLinks fails unless the home of the launch has the user's files, except for the settings and for what only passes.
func wantLinks(t *testing.T, links []runtimes.Link) {
	t.Helper()
	const own, users = "/d/launch/7/gemini/", "/u/"
	for _, want := range []runtimes.Link{
		{Path: own + ".gemini/tmp", Target: users + ".gemini/tmp", Folder: true}, {Path: own + ".gemini/projects.json", Target: users + ".gemini/projects.json"},
		{Path: own + ".gemini/oauth_creds.json", Target: users + ".gemini/oauth_creds.json"}, {Path: own + ".env", Target: users + ".env"},
	} {
		if !slices.Contains(links, want) {
			t.Errorf("no link %+v in %+v", want, links)
		}
	}
	paths := map[string]bool{}
	for _, l := range links {
		if name := strings.TrimPrefix(l.Path, own+".gemini/"); name == "settings.json" || name == "projects.json.lock" || paths[l.Path] {
			t.Errorf("link %+v", l)
		}
		paths[l.Path] = true
	}
}

// TestResumedGetsItsSkill: the first prompt of a session that is opened again brings the skill, once. No other mode than one that
// asks nobody leaves the user's list of tools that run unasked.
func TestResumedGetsItsSkill(t *testing.T) {
	s := runtimes.Spec{AgentID: 7, Command: []string{"gemini"}, Dir: "/d/launch/7", Resume: session, SkillText: "# Con", User: runtimes.UserHome{Path: "/u", Settings: []byte(`{"tools":{"allowed":["run_shell_command"]}}`)}}
	for mode, allowed := range map[string]bool{"": true, "ask": false, "edits": false, "plan": false, "auto": true, "default": false, "auto_edit": false, "yolo": true} {
		s.Mode = mode
		l := wardentest.Value(Runtime.Launch(s))(t)
		var settings struct {
			Hooks map[string][]struct {
				Hooks []struct{ Command string }
			}
			Tools struct{ Allowed []string }
		}
		for _, f := range l.Files {
			switch filepath.Base(f.Path) {
			case "settings.json":
				wardentest.Must(t, json.Unmarshal(f.Content, &settings))
			case "skill.json":
				equal(t, "the hook answers", string(f.Content), `{"hookSpecificOutput":{"additionalContext":"# Con","hookEventName":"BeforeAgent"}}`)
			}
		}
		equal(t, fmt.Sprintf("mode %q: tools run unasked", mode), settings.Tools.Allowed != nil, allowed)
		if len(settings.Hooks["BeforeAgent"]) != 1 || len(settings.Hooks["SessionStart"]) != 0 {
			t.Fatalf("hooks %+v", settings.Hooks)
		}
		const file = "/d/launch/7/gemini/skill.json"
		if got, want := settings.Hooks["BeforeAgent"][0].Hooks[0].Command, "test -e '"+file+".given' || { cat '"+file+"' && : >'"+file+".given'; }"; got != want {
			t.Errorf("the skill is given by %s, want %s", got, want)
		}
	}
}

func TestMergeSettings(t *testing.T) {
	ours := map[string]any{"hooks": map[string]any{"A": []any{"ours"}}, "general": map[string]any{"x": false}}
	for user, want := range map[string]string{
		"":                                   `{"general":{"x":false},"hooks":{"A":["ours"]}}`,
		`{"hooks":{"A":["u//"],"B":[1.50]}}`: `{"general":{"x":false},"hooks":{"A":["u//","ours"],"B":[1.50]}}`,
		`{"hooksConfig":{"enabled":false,"y":1},"hooks":{"A":["u"]}}`: `{"general":{"x":false},"hooks":{"A":["ours"]},"hooksConfig":{"enabled":true,"y":1}}`,
		`{"tools":{"allowed":["run_shell_command"],"exclude":["x"]}}`: `{"general":{"x":false},"hooks":{"A":["ours"]},"tools":{"exclude":["x"]}}`,
		"{\"a\\\"/*\": 1 // \"\n} /*":                                 `{"a\"/*":1,"general":{"x":false},"hooks":{"A":["ours"]}}`,
		`[]`:                                                          "", `{"a"`: "", `"a`: "",
	} {
		if got, err := mergeSettings([]byte(user), ours, true); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s becomes %s, %v; want %s", user, got, err, want)
		}
	}
}

// TestReads: a call shows that a file was read if it has succeeded.
func TestReads(t *testing.T) {
	call := func(tool, arg, path, status string) string {
		return `{"id":"b","type":"gemini","toolCalls":[{"id":"c","name":"` + tool + `","args":{"` + arg + `":"` + path + `"},"status":"` + status + `"}]}`
	}
	for line, left := range map[string]int{
		call("read_file", "file_path", "/d/a.md", "success"):          0,
		call("read_file", "file_path", "/d/a.md", "error"):            1,
		call("read_file", "file_path", "/d/b.md", "success"):          1,
		call("run_shell_command", "command", "cat a.md", "success"):   0,
		call("run_shell_command", "command", "cat a.md", "cancelled"): 1,
		call("write_file", "file_path", "/d/a.md", "success"):         1,
	} {
		r := Runtime.Reading("nonce", []string{"/d/a.md"})
		r.Add([]byte(`{"id":"a","type":"user","content":[{"text":"nonce: read"}]}` + "\n" + line + "\n"))
		if !r.Prompted() || len(r.Left()) != left {
			t.Errorf("%s leaves %q", line, r.Left())
		}
	}
}

// TestPolicy: a call that may pass without a question names one of the files itself, not in another argument.
func TestPolicy(t *testing.T) {
	rules := policy(runtimes.Spec{MayEdit: []string{"/d/con/handoffs/", "/d/con/experience.md"}})
	var allowed []*regexp.Regexp
	for _, m := range regexp.MustCompile(`(?m)^argsPattern = (".*")$`).FindAllStringSubmatch(rules, -1) {
		allowed = append(allowed, regexp.MustCompile(runtimes.Unquote([]byte(m[1]))))
	}
	if len(allowed) != 2 {
		t.Fatalf("rules %s", rules)
	}
	for call, want := range map[string]bool{
		"{\x00\"content\":\"x\"\x00,\x00\"file_path\":\"/d/con/handoffs/1.md\"\x00}":                                       true,
		"{\x00\"file_path\":\"/d/con/experience.md\"\x00}":                                                                 true,
		"{\x00\"file_path\":\"/d/con/experienceXmd\"\x00}":                                                                 false,
		"{\x00\"file_path\":\"/d/con/handoffs/../skill.md\"\x00}":                                                          false,
		"{\x00\"content\":\"\\u0000\\\"file_path\\\":\\\"/d/con/experience.md\\\"\"\x00,\x00\"file_path\":\"/etc/x\"\x00}": false,
	} {
		equal(t, call+" is allowed", slices.ContainsFunc(allowed, func(re *regexp.Regexp) bool { return re.MatchString(call) }), want)
	}
}

func TestLaunchRefuses(t *testing.T) {
	good := runtimes.Spec{SessionID: session, Command: []string{"gemini"}, Dir: "/d", User: runtimes.UserHome{Path: "/u"}}
	for name, c := range map[string]struct {
		change func(*runtimes.Spec)
		want   string
	}{
		"no home":    {func(s *runtimes.Spec) { s.User.Path = "" }, "home"},
		"settings":   {func(s *runtimes.Spec) { s.User.Settings = []byte("{") }, "settings"},
		"no command": {func(s *runtimes.Spec) { s.Command = nil }, "runtimes.gemini.command"},
		"session":    {func(s *runtimes.Spec) { s.SessionID = "x" }, "not a UUID"},
		"resume":     {func(s *runtimes.Spec) { s.Resume = "latest" }, "not a UUID"},
		"mode":       {func(s *runtimes.Spec) { s.Mode = "bold" }, "permission mode"},
		"model":      {func(s *runtimes.Spec) { s.Model = "-x" }, "dash"},
		"relative":   {func(s *runtimes.Spec) { s.Dir = "d" }, "not absolute"},
		"a file":     {func(s *runtimes.Spec) { s.MayEdit = []string{"d"} }, "not absolute"},
		"NUL":        {func(s *runtimes.Spec) { s.Command = []string{"a\x00"} }, "NUL"},
	} {
		s := good
		c.change(&s)
		wardentest.Failed(Runtime.Launch(s))(t, name, c.want)
	}
	if Runtime.CheckVersion("0.60.9") == nil || Runtime.CheckVersion("0.61.0") != nil || Runtime.CheckVersion("1.2.3") != nil || Runtime.CheckVersion("nightly") != nil {
		t.Error("0.60 is the newest version to refuse")
	}
}

// The payloads were recorded from 0.61.0.
func TestReport(t *testing.T) {
	for _, c := range []struct{ event, body, want, has string }{
		{"SessionStart", `{"session_id":"S","source":"startup","transcript_path":"/t"}`, hooks.SessionStart, `"source":"startup"`},
		{"SessionStart", `{"session_id":"S","source":"resume","transcript_path":"O K"}`, hooks.SessionStart, `"source":"resume"`},
		{"BeforeAgent", `{"prompt":"hello"}`, hooks.UserPromptSubmit, `"prompt":"hello"`},
		{"AfterAgent", `{"prompt":"hello","prompt_response":"O K"}`, hooks.Stop, `"stop_hook_active":false`},
		{"AfterAgent", `{"prompt_response":"[no response text]"}`, hooks.Notification, `"idle_prompt"`},
		{"Notification", `{"notification_type":"ToolPermission","details":{"type":"exec","command":"touch f"}}`, hooks.Notification, `"permission: touch f"`},
		{"Notification", `{"notification_type":"Gossip"}`, "", ""},
		{"PreCompress", `{}`, "", ""},
		{"SessionEnd", `{"reason":"exit"}`, hooks.SessionEnd, `"reason":"exit"`},
	} {
		r, err := Runtime.Report(c.event, []byte(c.body))
		if err != nil || r.Event != c.want || !strings.Contains(string(r.Body), c.has) || strings.Contains(string(r.Body), "O K") {
			t.Errorf("%s %s is reported as %s %s, %v", c.event, c.body, r.Event, r.Body, err)
		}
	}
	wardentest.Failed(Runtime.Report("AfterAgent", []byte("{")))(t, "half a body is reported")
}

func TestTail(t *testing.T) {
	line := func(kind, text string) []byte {
		return runtimes.Marshal(map[string]string{"id": "i", "timestamp": "2026-11-22T04:57:47.628Z", "type": kind, "content": text})
	}
	for _, c := range []struct {
		line        []byte
		event, code string
	}{
		{line("info", "Request cancelled."), hooks.Interrupt, ""},
		{line("error", `[API Error: {"error":{"code":400,"message":"no such thing","status":"INVALID_ARGUMENT"}}]`), hooks.StopFailure, runtimes.InvalidRequest},
		{line("error", `[API Error: {"error":{"code":401,"message":"no such key","status":"UNAUTHENTICATED"}}]`), hooks.StopFailure, runtimes.Unauthenticated},
		{line("error", "[API Error: You have exhausted your daily quota on this model.]\nPlease wait and try again later."), hooks.StopFailure, runtimes.UsageLimit},
		{line("error", "[API Error: fetch failed]"), hooks.StopFailure, runtimes.OtherTrouble},
		{line("error", "Unknown command: /x"), "", ""},
		{line("warning", "Agent execution blocked: the gate is closed"), hooks.PromptRefused, ""},
		{line("info", "Agent execution stopped: the gate is closed"), hooks.PromptRefused, ""},
		{line("user", "Agent execution blocked: quoted"), "", ""},
		{line("user", "Request cancelled."), "", ""},
		{line("gemini", "[API Error: quoted]"), "", ""},
	} {
		r, ok := Runtime.Tail("S", c.line)
		var body struct {
			Error string `json:"error"`
		}
		_ = json.Unmarshal(r.Body, &body) // no report has no body
		if ok != (c.event != "") || r.Event != c.event || body.Error != c.code || ok && (r.At.IsZero() || !strings.HasSuffix(r.Key, " i")) {
			t.Errorf("%s is reported as %+v %s", c.line, r, r.Body)
		}
	}
}

func TestReadLine(t *testing.T) {
	for line, want := range map[string]runtimes.Entry{
		`{"id":"a","type":"user","content":[{"text":"hello"}]}`:                                               {Role: "user", Text: "hello"},
		`{"id":"a","type":"user","content":[{"text":"[handoff_1] understudy: hand over"}]}`:                   {Text: "[handoff_1] understudy: hand over", Ours: true},
		`{"id":"a","type":"user","content":[{"text":"hello"},{"text":"<hook_context>skill</hook_context>"}]}`: {Role: "user", Text: "hello"},
		`{"id":"a","type":"user","content":[{"text":"<hook_context>skill</hook_context>"}]}`:                  {Text: "<hook_context>skill</hook_context>"},
		`{"id":"b","type":"gemini","content":"Hi.","tokens":{"input":1000,"output":20}}`:                      {Role: "assistant", Text: "Hi.", MessageID: "b", Used: 1000},
		`{"id":"w","type":"warning","content":"x"}`:                                                           {},
		`{"$set":{"lastUpdated":"2026-11-22T04:57:44.404Z"}}`:                                                 {},
	} {
		if got, err := Runtime.ParseEntry([]byte(line)); err != nil || got.Role != want.Role || got.Text != want.Text || got.Ours != want.Ours ||
			got.MessageID != want.MessageID || got.Used != want.Used {
			t.Errorf("%s is read as %+v, %v; want %+v", line, got, err, want)
		}
	}
	const call = `{"id":"b","type":"gemini","content":"Hi.","toolCalls":[{"id":"c","name":"write_file","args":{"file_path":"/a"},"status":"success"},{"id":"d","name":"replace","args":{"file_path":"/b"},"status":"error"}]}`
	got, err := Runtime.ParseEntry([]byte(call))
	if err != nil || got.Text != "" || !slices.Equal(got.Edited, []runtimes.Edit{{Path: "/a", Call: "c"}, {Path: "/b", Call: "d"}}) {
		t.Errorf("%+v, %v", got, err)
	}
}
