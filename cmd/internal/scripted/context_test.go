package scripted

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/actor"
)

// withStatusLine adds a status line to the rig's settings.
func (r *rig) withStatusLine(command string) {
	r.t.Helper()
	text, err := os.ReadFile(r.dir + "/settings.json")
	if err != nil {
		r.t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		r.t.Fatal(err)
	}
	all["statusLine"] = map[string]string{"type": "command", "command": command}
	if text, err = json.Marshal(all); err != nil {
		r.t.Fatal(err)
	}
	r.write("settings.json", string(text))
}

// statusRuns are the payloads that the status line has got so far.
func (r *rig) statusRuns() []map[string]any {
	text, _ := os.ReadFile(r.dir + "/status") // no file: it has not run yet
	var out []map[string]any
	for row := range bytes.Lines(text) {
		var one map[string]any
		if json.Unmarshal(row, &one) == nil { // else it is being written
			out = append(out, one)
		}
	}
	return out
}

func TestStatusLine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("config/settings.json", `{"statusLine":{"type":"command","command":"echo x > `+r.dir+`/theirs"}}`)
	r.withStatusLine(`{ cat; echo; } >> ` + r.dir + `/status; printf '\033[31mline one\033[0m\nof %s' $UNDERSTUDY_LAUNCH`)
	r.start(r.args()...)
	r.idle()
	r.eventually("a run at start", func() bool { return len(r.statusRuns()) == 1 })
	first := r.statusRuns()[0]
	window := first["context_window"].(map[string]any)
	if first["session_id"] != sessionID || first["session_name"] != "developer-con-1" || window["used_percentage"] != nil || window["context_window_size"] != 1e6 {
		t.Errorf("at start: %v", first)
	}
	r.sees("  line one\x1b[")
	r.sees("  of secret\x1b[")
	r.send("@tokens 760000 go\r")
	r.eventually("a run after the turn", func() bool { return len(r.statusRuns()) == 2 })
	second := r.statusRuns()[1]
	window = second["context_window"].(map[string]any)
	if second["prompt_id"] == nil || window["used_percentage"] != 76.0 || window["total_input_tokens"] != 76e4 || second["exceeds_200k_tokens"] != true {
		t.Errorf("after the turn: %v", second)
	}
	answers := r.entries("assistant")
	if got := answers[len(answers)-1].Message.Usage.context(); got != 760000 {
		t.Errorf("the transcript has %d tokens", got)
	}
	r.idle()
	r.send("/clear\r")
	r.eventually("a run after /clear", func() bool { return len(r.statusRuns()) == 3 })
	if third := r.statusRuns()[2]; third["session_id"] == sessionID || third["context_window"].(map[string]any)["current_usage"] != nil {
		t.Errorf("after /clear: %v", third)
	}
	if actor.IsFile(r.dir + "/theirs") {
		t.Error("the user's own command was run")
	}
}

// A command that hangs holds nothing up: the next run takes its place.
func TestStatusLineHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.withStatusLine(`cat >/dev/null; mkdir ` + r.dir + `/first 2>/dev/null && exec sleep 100; echo the second`)
	r.start(r.args()...)
	r.idle()
	r.eventually("the first run", func() bool { _, err := os.Stat(r.dir + "/first"); return err == nil })
	r.send("go\r")
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	r.sees("  the second")
	r.send("/exit\r")
	r.end(0)
}

// entry is a line of the transcript.
type entry struct {
	Type, Subtype, Level, Content string
	IsMeta                        bool
	IsCompactSummary              bool
	Origin                        struct{ Kind string }
	PromptSource                  string
	CompactMetadata               struct {
		Trigger               string
		PreTokens, PostTokens int
	}
	ToolUseResult json.RawMessage
	IsAPIError    bool `json:"isApiErrorMessage"`
	Message       struct {
		Model   string
		Content json.RawMessage
		Usage   usage
	}
}

// entries are the lines of the transcript of one type, or all for "".
func (r *rig) entries(kind string) []entry {
	r.t.Helper()
	var out []entry
	for row := range strings.Lines(r.transcript()) {
		var e entry
		if err := json.Unmarshal([]byte(row), &e); err != nil {
			r.t.Fatalf("line %s: %v", row, err)
		}
		if kind == "" || e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

func TestAutoCompact(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "SubagentStop")
	r.write("answers/PreCompact", `{"decision":"block","reason":"hand over first"}`)
	r.start(r.args()...)
	r.idle()
	r.send("@tokens 760000 @compact blocked\r")
	log := r.hooks("SessionStart(startup)", "UserPromptSubmit", "PreCompact", "Stop")
	if p := log[2].Payload; p["trigger"] != "auto" || p["custom_instructions"] != nil || p["prompt_id"] != log[1].Payload["prompt_id"] {
		t.Errorf("PreCompact: %v", p)
	}
	r.idle()
	if strings.Contains(r.transcript()+r.screen(), "hand over first") || strings.Contains(r.transcript(), "compact_boundary") {
		t.Error("a blocked compaction left traces")
	}
	r.send("@compact not blocked\r")
	log = r.hooks("SessionStart(startup)", "UserPromptSubmit", "PreCompact", "Stop",
		"UserPromptSubmit", "PreCompact", "SubagentStop", "SessionStart(compact)", "PostCompact", "Stop")
	if p := log[8].Payload; p["trigger"] != "auto" || !strings.Contains(log[8].field("compact_summary"), "blocked") {
		t.Errorf("PostCompact: %v", p)
	}
	r.idle()
	var boundary entry
	var kinds []string
	for _, e := range r.entries("") {
		switch {
		case e.Subtype == "compact_boundary":
			boundary = e
			kinds = append(kinds, "boundary")
		case e.IsCompactSummary:
			kinds = append(kinds, "summary")
		case e.Type == "assistant":
			kinds = append(kinds, "answer")
		}
	}
	if want := []string{"answer", "boundary", "summary", "answer"}; !slices.Equal(kinds, want) {
		t.Errorf("transcript: %v, want %v", kinds, want)
	}
	if m := boundary.CompactMetadata; m.Trigger != "auto" || m.PreTokens != 760000 || m.PostTokens != 30000 {
		t.Errorf("boundary: %+v", m)
	}
	answers := r.entries("assistant")
	if before, after := answers[0].Message.Usage.context(), answers[1].Message.Usage.context(); before != 760000 || after != 30000 {
		t.Errorf("tokens: %d, then %d", before, after)
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings("PreToolUse", "Stop")
	r.write("work/old.txt", "first\nlast")
	r.start(r.args()...)
	r.idle()
	r.prompt("@edit old.txt, @edit sub/new.txt")
	r.eventually("Stop", func() bool { return len(r.log()) == 3 })
	r.idle()
	for file, want := range map[string]string{"old.txt": "first\nlast\nOne line by the scripted agent.\n", "sub/new.txt": "One line by the scripted agent.\n"} {
		if text, err := os.ReadFile(r.cwd + "/" + file); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if input := r.log()[0].Payload["tool_input"].(map[string]any); input["file_path"] != r.cwd+"/old.txt" || input["old_string"] != "last\n" {
		t.Errorf("tool_input: %v", input)
	}
	results := 0
	for _, e := range r.entries("user") {
		if len(e.ToolUseResult) > 0 && strings.Contains(string(e.ToolUseResult), `"filePath":"`+r.cwd) {
			results++
		}
	}
	if n := strings.Count(r.transcript(), `"name":"Edit"`); n != 2 || results != 2 {
		t.Errorf("%d calls and %d results in the transcript:\n%s", n, results, r.transcript())
	}
	r.write("answers/PreToolUse", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"frozen"}}`)
	r.prompt("@edit never.txt")
	r.eventually("Stop", func() bool { return len(r.log()) == 5 })
	if !strings.Contains(r.transcript(), `"PreToolUse:Edit hook error: frozen","is_error":true`) || actor.IsFile(r.cwd+"/never.txt") {
		t.Error("the refusal is not in the transcript, or the file was written")
	}
}
