package scripted

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/actor"
)

// withStatusLine adds a status line to the rig's settings.
func (r *rig) withStatusLine(command string) {
	r.t.Helper()
	text := value(os.ReadFile(r.dir + "/settings.json"))(r.t)
	var all map[string]any
	must(r.t, json.Unmarshal(text, &all))
	all["statusLine"] = map[string]string{"type": "command", "command": command}
	text = value(json.Marshal(all))(r.t)
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
	equal(t, "the transcript has … tokens", answers[len(answers)-1].Message.Usage.context(), 760000)
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
