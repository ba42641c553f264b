package hookstest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestRecording: the recording has all scenes of Acts, and no payload that the daemon would refuse.
func TestRecording(t *testing.T) {
	t.Parallel()
	r := wardentest.Value(Load())(t)
	var acts []string
	for _, act := range Acts() {
		acts = append(acts, act.Name)
	}
	wardentest.Equal(t, "the recording", r.Names(), acts)
	for _, s := range r.Scenes {
		for _, shape := range s.Hooks {
			if !slices.Contains(Events(), shape.Event()) || !hooks.Known(shape.Event()) {
				t.Errorf("scene %s: the hook %q is not one that is recorded", s.Name, shape.Event())
			}
		}
	}
	wardentest.Equal(t, "the file", string(wardentest.Value(r.Text())(t)), string(recorded))
}

func payload(event, prompt, more string) []byte {
	return fmt.Appendf(nil, `{"hook_event_name":%q,"session_id":"s","transcript_path":"/x/s.jsonl","cwd":"/w","prompt_id":%q%s}`, event, prompt, more)
}

// TestRecorder: a shape is the same in every run, and tells new ids from old ones.
func TestRecorder(t *testing.T) {
	t.Parallel()
	var r Recorder
	got, err := r.Scene("one", payload("Stop", "p", `,"n":1,"b":true,"stop_hook_active":true,"background_tasks":[{"id":"a","status":"running"}],"z":null`),
		payload("StopFailure", "q", `,"error":"rate_limit"`))
	wardentest.Must(t, err)
	next := wardentest.Value(r.Scene("two", payload("UserPromptSubmit", "q", `,"prompt":"<task-notification>x"`), payload("PostToolUseFailure", "r", `,"error":"no such file"`)))(t)
	want := []string{
		`background_tasks=<list>`, `background_tasks[0]=<object>`, `background_tasks[0].id=<string>`, `background_tasks[0].status=running`,
		`b=<bool>`, `cwd=<string>`, `hook_event_name=Stop`, `n=<number>`, `prompt_id=<prompt 1>`, `session_id=<session 1>`,
		`stop_hook_active=true`, `transcript_path=<transcript of the session>`, `z=null`,
	}
	checkShape(t, got.Hooks[0], want...)
	checkShape(t, got.Hooks[1], "prompt_id=<prompt 2>", "error=rate_limit")
	checkShape(t, next.Hooks[0], "prompt_id=<prompt of a scene before>", "session_id=<session of a scene before>", "prompt=<task notification>")
	checkShape(t, next.Hooks[1], "prompt_id=<prompt 1>", "error=<string>")
}

func checkShape(t *testing.T, s Shape, want ...string) {
	t.Helper()
	flat := flatten(s)
	for _, w := range want {
		path, value, _ := strings.Cut(w, "=")
		wardentest.Equal(t, s.Event()+": "+path, strings.Trim(flat[path], `"`), value)
	}
}

// TestComparison: a comparison finds each kind of difference, and no exception covers a missing field that the daemon reads.
func TestComparison(t *testing.T) {
	t.Parallel()
	var r Recorder
	cli, err := r.Scene("x", payload("UserPromptSubmit", "p", `,"prompt":"a","extra":1`), payload("PreToolUse", "p", `,"tool_name":"Bash"`),
		payload("Stop", "p", `,"stop_hook_active":false,"background_tasks":[]`))
	wardentest.Must(t, err)
	prompt, stop := payload("UserPromptSubmit", "p", `,"prompt":"b","extra":2`), payload("Stop", "p", `,"stop_hook_active":false,"background_tasks":[]`)
	tool := payload("PreToolUse", "p", `,"tool_name":"Bash"`)
	for name, row := range map[string]struct {
		got        [][]byte
		exceptions []Exception
		daemon     bool
		want       string // part of the first difference; "": no difference
	}{
		"the same":           {got: [][]byte{prompt, tool, stop}},
		"another order":      {got: [][]byte{tool, prompt, stop}, want: "its hooks are"},
		"knowingly":          {got: [][]byte{tool, prompt, stop}, exceptions: []Exception{{Scene: "x"}}},
		"a hook is missing":  {got: [][]byte{prompt, stop}, want: "its hooks are"},
		"not for the daemon": {got: [][]byte{prompt, stop}, daemon: true},
		"missing, knowingly": {got: [][]byte{prompt, stop}, exceptions: []Exception{{Event: "PreToolUse"}}},
		"a field is missing": {got: [][]byte{payload("UserPromptSubmit", "p", `,"prompt":"b"`), tool, stop}, want: "field extra: it is missing"},
		"nobody reads it":    {got: [][]byte{payload("UserPromptSubmit", "p", `,"prompt":"b"`), tool, stop}, daemon: true},
		"excepted": {got: [][]byte{payload("UserPromptSubmit", "p", `,"prompt":"b"`), tool, stop},
			exceptions: []Exception{{Event: "UserPromptSubmit", Field: "extra"}}},
		"the daemon reads it": {got: [][]byte{payload("UserPromptSubmit", "p", `,"extra":2`), tool, stop},
			exceptions: []Exception{{Event: "UserPromptSubmit", Field: "prompt"}}, want: "field prompt: it is missing"},
		"the daemon alone reads it": {got: [][]byte{payload("UserPromptSubmit", "p", `,"extra":2`), stop}, daemon: true, want: "field prompt: it is missing"},
		"another type":              {got: [][]byte{payload("UserPromptSubmit", "p", `,"prompt":"b","extra":"2"`), tool, stop}, want: `field extra: it is "<string>"`},
		"another value": {got: [][]byte{prompt, tool, payload("Stop", "p", `,"stop_hook_active":true,"background_tasks":[]`)}, daemon: true,
			want: "field stop_hook_active: it is true"},
		"another prompt": {got: [][]byte{prompt, tool, payload("Stop", "q", `,"stop_hook_active":false,"background_tasks":[]`)}, daemon: true,
			want: `field prompt_id: it is "<prompt 2>"`},
		"more tasks": {got: [][]byte{prompt, tool, payload("Stop", "p", `,"stop_hook_active":false,"background_tasks":[{}]`)}, daemon: true,
			want: "field background_tasks[0]"},
		"a field too many": {got: [][]byte{payload("UserPromptSubmit", "p", `,"prompt":"b","extra":1,"reason":"x"`), tool, stop}, daemon: true,
			want: "field reason: it is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Comparison{Recording: Recording{Version: "2.1.329", Scenes: []Scene{cli}}, Exceptions: row.exceptions, Daemon: row.daemon}
			got := c.Scene("x", row.got...)
			if (row.want == "") != (len(got) == 0) || row.want != "" && !strings.Contains(got[0], row.want) {
				t.Errorf("found %q, want %q", got, row.want)
			}
			if row.want == "" && len(c.Unneeded()) > 0 {
				t.Errorf("%q", c.Unneeded())
			}
		})
	}
	c := Comparison{Recording: Recording{Version: "2.1.329", Scenes: []Scene{cli}}, Exceptions: []Exception{{Scene: "x"}, {Event: "Stop", Field: "effort"}}}
	if got := c.Scene("x", prompt, tool, stop); len(got) > 0 || len(c.Unneeded()) != 2 {
		t.Errorf("found %q; not needed: %q", got, c.Unneeded())
	}
	wardentest.Equal(t, "a scene that is not in the recording", len(c.Scene("y")), 1)
}
