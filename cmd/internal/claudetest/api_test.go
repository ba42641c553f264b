package claudetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

var must, equal = wardentest.Must, wardentest.Equal

// post sends a body as the CLI does.
func post(t *testing.T, api *FakeAPI, body string) *http.Response {
	t.Helper()
	req := wardentest.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, api.URL+"/v1/messages?beta=true", strings.NewReader(body)))(t)
	req.Header.Set("X-Claude-Code-Session-Id", "s-1")
	resp := wardentest.Value(http.DefaultClient.Do(req))(t)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// events returns the types of a stream's events, and the texts and tool inputs in them.
func events(t *testing.T, body io.Reader) (types []string, text, input string) {
	t.Helper()
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type  string
			Delta struct {
				Text string
				JSON string `json:"partial_json"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("event %s: %v", data, err)
		}
		types, text, input = append(types, e.Type), text+e.Delta.Text, input+e.Delta.JSON
	}
	return types, text, input
}

func body(stream bool, messages string) string {
	return fmt.Sprintf(`{"model":"m","stream":%v,"system":[{"type":"text","text":"you are"},{"type":"text","text":"Con"}],
		"messages":%s,"tools":[{"name":"Write"}],"max_tokens":1}`, stream, messages)
}

const asked = `[{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},
	{"type":"text","text":"Please write your handoff document to /data/p/handoffs/1.md, then stop."}]}]`

func TestFakeAPIWritesTheDocumentOnce(t *testing.T) {
	t.Parallel()
	api := NewFakeAPI(t, nil)
	types, _, input := events(t, post(t, api, body(true, asked)).Body)
	want := []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}
	equal(t, "events", types, want)
	var in struct {
		Path    string `json:"file_path"`
		Content string
	}
	if err := json.Unmarshal([]byte(input), &in); err != nil || in.Path != "/data/p/handoffs/1.md" || in.Content != Document {
		t.Errorf("input %s, %v", input, err)
	}

	after := strings.TrimSuffix(asked, "]") + `,{"role":"assistant","content":[{"type":"tool_use","name":"Write","input":{"file_path":"/data/p/handoffs/1.md"}}]},
		{"role":"user","content":[{"type":"tool_result","content":"done"}]}`
	for name, messages := range map[string]string{
		"the result": after + "]",
		"asked again": after + `,{"role":"assistant","content":"OK"},
			{"role":"user","content":"Please write to /data/p/handoffs/1.md"}]`,
		"a briefing":     `[{"role":"user","content":"Read /data/p/handoffs/1.md and /data/p/handoffs/1.context.md, write on."}]`,
		"something else": `[{"role":"user","content":"hello"}]`,
	} {
		if _, text, input := events(t, post(t, api, body(true, messages)).Body); text != "OK" || input != "" {
			t.Errorf("%s: text %q, input %q", name, text, input)
		}
	}
	first := api.Requests()[0]
	if first.SessionID != "s-1" || first.SystemText() != "you are\nCon" || len(first.UserTexts()) != 2 || first.Tools[0].Name != "Write" {
		t.Errorf("recorded %+v", first)
	}
}

func TestFakeAPIInOnePiece(t *testing.T) {
	t.Parallel()
	api := NewFakeAPI(t, Says("hi"))
	var got struct {
		Content    Content
		StopReason string `json:"stop_reason"`
	}
	must(t, json.NewDecoder(post(t, api, body(false, asked)).Body).Decode(&got))
	if got.Content.text() != "hi" || got.StopReason != "end_turn" {
		t.Errorf("%+v", got)
	}
}

func TestFakeAPIBlocks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply  Reply
		blocks int
		text   string
	}{
		"one":              {Reply{Text: "a"}, 1, "a"},
		"none":             {Reply{}, 1, ""},
		"two":              {Reply{Text: "a", More: []string{"b"}}, 2, "ab"},
		"a call":           {Bash("true", false), 1, ""},
		"two and a call":   {Reply{Text: "a", More: []string{"b"}, Tool: "Bash"}, 3, "ab"},
		"a skill of ours":  {Skill("handoff", "focus"), 1, ""},
		"nothing and more": {Reply{More: []string{"b"}}, 2, "b"},
	} {
		api := NewFakeAPI(t, func(Request) Reply { return tt.reply })
		types, text, _ := events(t, post(t, api, body(true, asked)).Body)
		starts := len(slices.DeleteFunc(types, func(typ string) bool { return typ != "content_block_start" }))
		if starts != tt.blocks || text != tt.text {
			t.Errorf("%s: %d blocks with %q, want %d with %q", name, starts, text, tt.blocks, tt.text)
		}
		equal(t, name+": blocks in one piece", len(message(1, "m", tt.reply)["content"].([]any)), tt.blocks)
	}
}

func TestFakeAPIFails(t *testing.T) {
	t.Parallel()
	api := NewFakeAPI(t, Fails(529, "overloaded"))
	equal(t, "status", post(t, api, body(true, asked)).StatusCode, 529)
	equal(t, "status … for nonsense", post(t, api, `{"messages":7}`).StatusCode, http.StatusBadRequest)
}

func TestFakeAPIHolds(t *testing.T) {
	t.Parallel()
	api := NewFakeAPI(t, func(Request) Reply { return Reply{Text: "first second", Hold: true} })
	resp := post(t, api, body(true, asked))
	half := make([]byte, 1)
	if _, err := io.ReadFull(resp.Body, half); err != nil { // the headers and the start have arrived
		t.Fatal(err)
	}
	rest := make(chan string)
	go func() {
		b, _ := io.ReadAll(resp.Body)
		rest <- string(b)
	}()
	select {
	case b := <-rest:
		t.Fatalf("the answer was not held: %s", b)
	default:
	}
	api.Release()
	if b := <-rest; !strings.Contains(b, "message_stop") {
		t.Errorf("after the release: %s", b)
	}
}

// TestFakeAPIEndsWhileHolding: a test that fails while the fake holds an answer ends all the same.
func TestFakeAPIEndsWhileHolding(t *testing.T) {
	t.Parallel()
	t.Run("held", func(t *testing.T) {
		api := NewFakeAPI(t, func(Request) Reply { return Reply{Text: "late", Hold: true} })
		post(t, api, body(true, asked))
	})
}

func TestAwait(t *testing.T) {
	t.Parallel()
	api := NewFakeAPI(t, nil)
	go func() {
		for _, text := range []string{"one", "two"} {
			resp, err := http.Post(api.URL+"/v1/messages", "application/json",
				strings.NewReader(body(false, `[{"role":"user","content":"`+text+`"}]`)))
			if err == nil {
				resp.Body.Close()
			}
		}
	}()
	got := api.Await(t, "two", func(r Request) bool { return r.UserTexts()[0] == "two" })
	equal(t, "model", got.Model, "m")
}

func TestInstruction(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[n] Please write your handoff to /d/h/1.md now.":              "/d/h/1.md",
		"Stop hook feedback:\nWrite a document\nto `/d/h/1.md`.":       "/d/h/1.md",
		"Your skill is /d/skill.md. Write to \"/d/h/1.md\", see /x.md": "/d/h/1.md",
		"Read /d/h/1.md":                  "",
		"Write it down":                   "",
		"write to d/h/1.md":               "",
		"write 1.md, see /d/1.context.md": "",
	} {
		if got, _ := Instruction(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestHeadings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"under exactly these headings: ## What Was Done (progress: done), ## Open Questions (blockers), ## Code Patterns. Keep",
		"- **## What Was Done**: progress.\n- **## Open Questions**: blockers.\n- **## Code Patterns**: what it must know",
		"# Handoff\n## What Was Done\nAll.\n## Open Questions\n\n## Code Patterns",
	} {
		equal(t, text, Headings(text), []string{"What Was Done", "Open Questions", "Code Patterns"})
	}
}
