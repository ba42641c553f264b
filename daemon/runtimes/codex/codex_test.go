package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

func spec() runtimes.Spec {
	return runtimes.Spec{
		AgentID: 7, Command: []string{"/opt/codex"}, Binary: "/opt/it's/understudy-hook", SkillText: "# Con\n\nSays \"tabs\" <always>.\n",
		Model: "gpt-6-sol", MayEdit: []string{"/data/handoffs/", "/data/experience.md"}, Dir: "/data/launch/7",
	}
}

// valuesOf returns the values of a flag that may come more than once.
func valuesOf(argv []string, flag string) (values []string) {
	for i, a := range argv {
		if a == flag && i+1 < len(argv) {
			values = append(values, argv[i+1])
		}
	}
	return values
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	l := wardentest.Value(Runtime.Launch(spec()))(t)
	if l.SessionID != "" || len(l.Files) != 0 || l.Argv[0] != "/opt/codex" {
		t.Errorf("%+v, want no file and no id", l)
	}
	settings := valuesOf(l.Argv, "-c")
	for _, want := range []string{
		`developer_instructions="# Con\n\nSays \"tabs\" <always>."`,
		`hooks.Stop=[{hooks=[{type="command",command="'/opt/it'\\''s/understudy-hook' hook --runtime codex Stop",timeout=20}]}]`,
		"analytics.enabled=false", "check_for_update_on_startup=false",
	} {
		if !slices.Contains(settings, want) {
			t.Errorf("settings\n%s\nwant %s", strings.Join(settings, "\n"), want)
		}
	}
	equal(t, "folders …, want the one that the agent may change", valuesOf(l.Argv, "--add-dir"), []string{"/data/handoffs"})
	if strings.Contains(strings.Join(l.Argv, " "), "trust_level") {
		t.Error("the daemon trusts a folder in place of the person")
	}
}

func TestLaunchModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"": "workspace-write on-request", "ask": "read-only on-request", "edits": "workspace-write on-request", "auto": "workspace-write never",
		"danger-full-access": "danger-full-access never",
	} {
		s := spec()
		s.Mode = mode
		l, err := Runtime.Launch(s)
		if got := strings.Join(append(valuesOf(l.Argv, "-s"), valuesOf(l.Argv, "-a")...), " "); err != nil || got != want {
			t.Errorf("mode %q: %s, %v; want %s", mode, got, err, want)
		}
	}
	for _, name := range modeNames {
		if modes[name] == nil {
			t.Errorf("mode %s has no flags", name)
		}
	}
	s := spec()
	s.Command = []string{"codex", "--sandbox=read-only"}
	l, err := Runtime.Launch(s)
	if got := append(valuesOf(l.Argv, "-s"), valuesOf(l.Argv, "-a")...); err != nil || len(got) != 0 {
		t.Errorf("flags %q beside those of the command, %v", got, err)
	}
}

// TestAddsNoFolderWhereItMayNotWrite: the real CLI exits with "Ignoring --add-dir" beside a sandbox that is only for reading.
func TestAddsNoFolderWhereItMayNotWrite(t *testing.T) {
	t.Parallel()
	adds := func(s runtimes.Spec) bool {
		l := wardentest.Value(Runtime.Launch(s))(t)
		return hasFlag(l.Argv, "--add-dir")
	}
	for _, mode := range append([]string{""}, modeNames...) {
		s := spec()
		s.Mode = mode
		equal(t, "mode "+mode+": folders are added", adds(s), !slices.Contains(modes[mode], "read-only"))
	}
	for command, want := range map[string]bool{
		"codex -s read-only": false, "codex --sandbox=read-only": false, "codex --sandbox workspace-write -a never": true, "codex -a never": false,
		"codex --approve-for-me": true, "codex --dangerously-bypass-approvals-and-sandbox": true, "codex -p work": true,
	} {
		s := spec()
		s.Command = strings.Fields(command)
		equal(t, command+": folders are added", adds(s), want)
	}
	s := spec()
	s.AgentID, s.Mode, s.Args = 0, "ask", []string{"--add-dir", "/src"}
	if _, err := Runtime.Launch(s); err == nil || err.Error() != "Codex takes --add-dir only where it may write: leave it out, or choose the mode edits" {
		t.Errorf("an operator's --add-dir in the mode ask: %v", err)
	}
}

func TestLaunchResumes(t *testing.T) {
	t.Parallel()
	s := spec()
	s.Resume = "01a2018f-9513-73b3-a932-4bf540fe1c4f"
	l, err := Runtime.Launch(s)
	if err != nil || l.SessionID != s.Resume || !slices.Equal(l.Argv[len(l.Argv)-2:], []string{"resume", s.Resume}) {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestLaunchRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*runtimes.Spec){
		"runtimes.codex.command": func(s *runtimes.Spec) { s.Command = nil },
		"permission mode":        func(s *runtimes.Spec) { s.Mode = "yolo" },
		"is not a UUID":          func(s *runtimes.Spec) { s.Resume = "last" },
		"shorten":                func(s *runtimes.Spec) { s.SkillText = strings.Repeat("\n", maxSkill/2) },
		"is not absolute":        func(s *runtimes.Spec) { s.MayEdit = []string{"handoffs/"} },
		"NUL":                    func(s *runtimes.Spec) { s.Command = []string{"a\x00b"} },
	} {
		s := spec()
		change(&s)
		wardentest.Failed(Runtime.Launch(s))(t, "refused launch", want)
	}
}

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{
		"codex-cli 0.169.0": true, "codex-cli 0.168.9": false, "codex-cli 0.99.0-alpha.3": false, "codex-cli 1.0.0": true, "": true, "what?": true,
	} {
		equal(t, version+": taken", Runtime.CheckVersion(version) == nil, ok)
	}
}

// TestScreens reads screens of the real CLI. TestScreens of cmd/internal/realcli records those of testdata/codex anew.
func TestScreens(t *testing.T) {
	t.Parallel()
	const ready, row = true, "› Ask Codex to do anything"
	empty := runtimes.Screen{Composer: ready, Row: row}
	busy := runtimes.Screen{Composer: ready, Row: row, Busy: true}
	draft := func(text, row string) runtimes.Screen { return runtimes.Screen{Composer: ready, Draft: text, Row: row} }
	asks := runtimes.Screen{Dialog: "permission: Would you like to run the following command?"}
	wants := map[string]runtimes.Screen{
		"started": empty, "idle": empty, "interrupted": empty, "error": empty, "error_key": empty, "limit": empty,
		"busy": busy, "busy_tool": busy,
		"busy_draft":                   {Composer: ready, Draft: "a draft meanwhile", Row: "› a draft meanwhile", Busy: true},
		"draft":                        draft("please look at the parser", "› please look at the parser"),
		"draft_lines":                  draft("first line\n\nthird line", "› first line"),
		"dialog_command":               asks,
		"dialog_write":                 {Dialog: "permission: Would you like to make the following edits?"},
		"more/agents_view":             {Dialog: "agents view"},
		"more/starting":                {},
		"more/dialog_trust":            {Dialog: "trust: may the agent work in this folder?"},
		"more/draft_multiline":         draft("draft one\ndraft two\ndraft three", "› draft one"),
		"more/unknown_slash":           draft("/nosuch thing S1", "› /nosuch thing S1"),
		"more/working_queued":          empty, // its title is not recorded
		"more/usage_limit":             empty,
		"more/dialog_model_notice":     {Dialog: "model notice: which model is the agent to use?"},
		"more/dialog_rate_limit_nudge": {Dialog: "rate limit: switch to a smaller model?"},
		"more/waiting_for_startup":     {},
		"more/hooks_review":            {Dialog: "hooks: may those that are new run?"},
		"more/shell_mode":              {Dialog: shellMode},
		"more/popup_slash":             draft("/quit", "› /quit"),
		"more/popup_mention":           draft("hello @no", "› hello @no"),
	}
	raw := wardentest.Value(os.ReadFile("../testdata/codex/titles.json"))(t)
	var titles map[string]string
	wardentest.Must(t, json.Unmarshal(raw, &titles))
	files, _ := filepath.Glob("../testdata/codex/*.txt")
	more, _ := filepath.Glob("../testdata/codex/more/*.txt")
	if len(files)+len(more) != len(wants) {
		t.Errorf("%d screens, %d expectations", len(files)+len(more), len(wants))
	}
	for _, file := range slices.Concat(files, more) {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "../testdata/codex/"), ".txt")
		screen := wardentest.Value(os.ReadFile(file))(t)
		want, ok := wants[name]
		if got := Runtime.ReadScreen(runtimes.View{Text: string(screen), Title: titles[name]}); !ok || got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
	}
	for name, view := range map[string]runtimes.View{
		"a title alone": {Text: "anything", Title: "[ . ] Action Required | work"},
		"nothing":       {}, "a shell": {Text: "$ "}, "a hint without a dialog": {Text: "$ read 'enter to confirm'\n$"},
	} {
		if got := Runtime.ReadScreen(view); got.Composer || (got.Dialog != "") != (view.Title != "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	raw := wardentest.Value(os.ReadFile("../testdata/codex/hooks.json"))(t)
	var samples map[string]json.RawMessage
	wardentest.Must(t, json.Unmarshal(raw, &samples))
	reported := 0
	for name, body := range samples {
		event, _, _ := strings.Cut(name, "/")
		r, err := Runtime.Report(event, body)
		if err != nil || (r.Event != "") != slices.Contains(events, event) {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		if r.Event == "" {
			continue
		}
		reported++
		p, err := hooks.Parse(r.Event, r.Body)
		if err != nil || p.SessionID == "" || (p.PromptID == "") != (event == hooks.SessionStart || event == hooks.SessionEnd) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if reported < 8 {
		t.Errorf("%d samples of events that count", reported)
	}
	r, err := Runtime.Report(hooks.PermissionRequest, samples["PermissionRequest/apply_patch"])
	if p, _ := hooks.Parse(r.Event, r.Body); err != nil || p.ToolName != "Write" || string(p.ToolInput) != `{"file_path":"f.txt"}` {
		t.Errorf("a patch is reported as %s %s, %v", p.ToolName, p.ToolInput, err)
	}
	two := `{"tool_name":"apply_patch","tool_input":{"command":"*** Update File: a\n*** Move to: b\n"}}`
	if r, err := Runtime.Report(hooks.PermissionRequest, []byte(two)); err != nil || strings.Contains(string(r.Body), "Write") {
		t.Errorf("a patch of two files is reported as %s, %v", r.Body, err)
	}
	wardentest.Failed(Runtime.Report(hooks.Stop, []byte("[")))(t, "what is no JSON")
}

// TestRollout: the conversation, the ends of turns and the use of the context are read from lines of a real rollout.
func TestRollout(t *testing.T) {
	t.Parallel()
	b := wardentest.Value(os.ReadFile("../testdata/codex/rollout.jsonl"))(t)
	var said, ends []string
	var used, window int64
	compacted := 0
	for line := range strings.Lines(string(b)) {
		e, err := Runtime.ParseEntry([]byte(line))
		if err != nil || e.At.IsZero() {
			t.Errorf("%.80s: %+v, %v", line, e, err)
		}
		if e.Role != "" {
			said = append(said, e.Role+": "+e.Text)
		}
		if e.Used > 0 {
			used, window = e.Used, e.Window
		}
		if e.Compacted {
			compacted++
		}
		if r, ok := Runtime.Tail("S", []byte(line)); ok {
			p, err := hooks.Parse(r.Event, r.Body)
			if err != nil || p.SessionID != "S" || p.PromptID == "" || !strings.Contains(r.Key, p.PromptID) || r.At.IsZero() {
				t.Errorf("%+v, %+v, %v", r, p, err)
			}
			ends = append(ends, strings.TrimSpace(r.Event+" "+p.Error))
		}
		for cut := 1; cut < len(line)-1; cut += 97 {
			if _, ok := Runtime.Tail("S", []byte(line[:cut])); ok {
				t.Errorf("a line that is cut off is a report: %.80s", line)
			}
		}
	}
	if used != 1220 || window != 258400 || compacted != 1 {
		t.Errorf("%d of %d tokens, %d compactions", used, window, compacted)
	}
	equal(t, "conversation", said, []string{"assistant: first"})
	want := []string{"Notification", "Interrupt", "StopFailure usage_limit", "StopFailure authentication_failed", "StopFailure rate_limit", "StopFailure unknown",
		"StopFailure server_error", "StopFailure overloaded", "StopFailure context_window_exceeded"}
	equal(t, "ends", ends, want)
}

func item(payload string) string {
	return `{"timestamp":"2026-11-20T12:00:01.500Z","ordinal":3,"type":"response_item","payload":` + payload + `}`
}

func user(text string) string {
	return item(`{"type":"message","id":"m","role":"user","content":[{"type":"input_text","text":` + runtimes.JSONText(text) + `}]}`)
}

func TestEntries(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 1, 500_000_000, time.UTC)
	patch := "*** Begin Patch\n*** Add File: /srv/a.go\n+x\n*** Update File: b.go\n*** End Patch\n"
	for name, tt := range map[string]struct {
		line string
		want runtimes.Entry
	}{
		"a prompt":       {user("go on"), runtimes.Entry{Role: "user", Text: "go on", At: at}},
		"ours":           {user("[handoff_a_b_1_c0] understudy: hand over"), runtimes.Entry{Text: "[handoff_a_b_1_c0] understudy: hand over", At: at, Ours: true}},
		"an environment": {user("<environment_context>\n<cwd>/</cwd>\n</environment_context>"), runtimes.Entry{Text: "<environment_context>\n<cwd>/</cwd>\n</environment_context>", At: at}},
		"the answer to a Stop": {user(`<hook_prompt hook_run_id="stop:1">[handoff_a_b_1_c0] understudy: x</hook_prompt>`),
			runtimes.Entry{Text: `<hook_prompt hook_run_id="stop:1">[handoff_a_b_1_c0] understudy: x</hook_prompt>`, At: at}},
		"HTML":        {user("<b>go</b> on"), runtimes.Entry{Role: "user", Text: "<b>go</b> on", At: at}},
		"a developer": {item(`{"type":"message","role":"developer","content":[{"type":"input_text","text":"x"}]}`), runtimes.Entry{At: at}},
		"an answer": {item(`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Done."}]}`),
			runtimes.Entry{Role: "assistant", Text: "Done.", At: at, MessageID: "msg_1"}},
		"a patch": {item(`{"type":"custom_tool_call","name":"apply_patch","call_id":"c1","input":` + runtimes.JSONText(patch) + `}`),
			runtimes.Entry{At: at, Edited: []runtimes.Edit{{Path: "/srv/a.go", Call: "c1"}, {Path: "b.go", Call: "c1"}}}},
		"its success": {item(`{"type":"custom_tool_call_output","call_id":"c1","output":"Exit code: 0\nOutput:\nSuccess. Updated the following files:\nA a\n"}`), runtimes.Entry{At: at}},
		"its refusal": {item(`{"type":"custom_tool_call_output","call_id":"c1","output":"patch rejected by user"}`), runtimes.Entry{At: at, Failed: []string{"c1"}}},
		"a command":   {item(`{"type":"function_call","name":"exec_command","call_id":"c1","arguments":"{}"}`), runtimes.Entry{At: at}},
	} {
		equal(t, name, wardentest.Value(Runtime.ParseEntry([]byte(tt.line)))(t), tt.want)
	}
	told := []byte(user(`<hook_prompt hook_run_id="stop:1">[handoff_a_b_1_c0] understudy: x</hook_prompt>`) + "\n")
	if !Runtime.TranscriptContains(told, "[handoff_a_b_1_c0]") || Runtime.PromptedAfter(told, "", at.Add(-time.Hour), nil, time.Time{}) {
		t.Error("the answer to a Stop is not found, or counts as work")
	}
	work := append(told, user("now this")...)
	if !Runtime.PromptedAfter(work, "[handoff_a_b_1_c0]", at.Add(-time.Hour), nil, time.Time{}) {
		t.Error("a prompt after the instruction does not count as work")
	}
}

func TestTrouble(t *testing.T) {
	t.Parallel()
	line := `{"timestamp":"2026-11-22T04:42:26.909Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"t1","error":{"message":` +
		`"You’ve hit your usage limit. Or try again at Nov 29th, 2026 6:40 AM.","codex_error_info":"usage_limit_exceeded"}}}`
	r, ok := Runtime.Tail("S", []byte(line))
	var body struct {
		ResetsAt int64 `json:"resets_at"`
	}
	want := time.Date(2026, 11, 29, 6, 40, 0, 0, time.Local).Unix()
	if err := json.Unmarshal(r.Body, &body); !ok || err != nil || body.ResetsAt != want {
		t.Errorf("%s, %v; want %d", r.Body, err, want)
	}
	for info, want := range map[string]string{
		`"context_window_exceeded"`: runtimes.ContextFull,
		`"other"`:                   runtimes.ServerError,
		`{"http_connection_failed":{"http_status_code":null}}`:           runtimes.ServerError,
		`{"response_stream_disconnected":{}}`:                            runtimes.ServerError,
		`{"http_connection_failed":{"http_status_code":401}}`:            runtimes.Unauthenticated,
		`{"response_too_many_failed_attempts":{"http_status_code":429}}`: runtimes.RateLimit,
	} {
		equal(t, info+" is", trouble(json.RawMessage(info), "stream disconnected before completion"), want)
	}
	equal(t, "a quota that is used up", trouble(json.RawMessage(`"usage_limit_exceeded"`), "Quota exceeded. Check your plan and billing details."), runtimes.Billing)
}

func TestFork(t *testing.T) {
	t.Parallel()
	const session = "01a2018f-9513-73b3-a932-4bf540fe1c4f"
	cmd, err := Runtime.Fork(runtimes.ForkSpec{Command: []string{"codex", "-p", "work"}, SessionID: session, Prompt: "write it"})
	if err != nil || string(cmd.Stdin) != "write it" || slices.Contains(cmd.Argv, "write it") {
		t.Errorf("%+v, %v", cmd, err)
	}
	argv := strings.Join(cmd.Argv, " ")
	wardentest.Holds(t, "the command", argv, "codex -p work exec -c ", ` sandbox_mode="read-only"`, "--disable shell_tool", " fork --ephemeral ", " --json "+session+" -")
	wardentest.Failed(Runtime.Fork(runtimes.ForkSpec{Command: []string{"codex"}, SessionID: "last"}))(t, "a session without an id")
	fresh, err := Runtime.Fork(runtimes.ForkSpec{Command: []string{"codex"}, Prompt: "write it"})
	if argv := strings.Join(fresh.Argv, " "); err != nil || !strings.HasSuffix(argv, " --ephemeral --skip-git-repo-check --json -") || strings.Contains(argv, " fork ") {
		t.Errorf("a new session: %s, %v", argv, err)
	}
	const begun = `{"type":"thread.started","thread_id":"x"}` + "\n" + `{"type":"item.completed","item":{"id":"1","type":"reasoning","text":"hm"}}` + "\n"
	message := `{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"# Handoff"}}` + "\n"
	for output, want := range map[string]string{
		begun + message + message + `{"type":"turn.completed","usage":{}}`: "# Handoff|# Handoff",
		begun + message: "error: it ended without a result",
		begun + `{"type":"error","message":"boom"}` + "\n" + `{"type":"turn.failed","error":{"message":"{\"error\":{\"message\":\"no\"}}"}}`: "error: no",
		`{"type":"error","message":"boom"}`: "error: boom",
	} {
		texts, err := Runtime.ForkAnswer([]byte(output))
		got := strings.Join(texts, "|")
		if err != nil {
			got = "error: " + err.Error()
		}
		equal(t, output, got, want)
	}
	equal(t, "a message that looks like a flag", Runtime.Queue([]string{"codex"}, session, "--help"), []string{"codex", "queue", "--thread", session, "--message=--help"})
}

var equal = wardentest.Equal
