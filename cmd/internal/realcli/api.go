package realcli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
)

// NewFakeAPI starts a fake that speaks the APIs of all five CLIs, each below its own path: what a CLI gets there, Env
// configures. One script answers all of them and sees every request in the words of Claude Code's API, so a script of
// claudetest serves every CLI. A call of Bash, Write or Read becomes one of the CLI's own tools; a call with another name
// goes out as it is. The fake ends with the test. A nil script is that of claudetest.NewFakeAPI.
//
// The script is not asked about requests with Aside. The fake answers them as the CLI expects.
func NewFakeAPI(t testing.TB, script claudetest.Script) *claudetest.FakeAPI {
	t.Helper()
	api := claudetest.NewFakeAPI(t, script)
	for _, cli := range All() {
		base := "/" + string(cli)
		switch cli {
		case Codex:
			api.Handle("POST "+base+"/v1/responses", handler{api, cli, readResponses, writeResponses, openAIError}.serve)
		case OpenCode, Pi:
			api.Handle("POST "+base+"/v1/chat/completions", handler{api, cli, readChat, writeChat, openAIError}.serve)
		case Gemini:
			api.Handle("POST "+base+"/v1beta/models/{call}", handler{api, cli, readGemini, writeGemini, geminiError}.serve)
		}
	}
	return api
}

// handler serves one API for one CLI.
type handler struct {
	api  *claudetest.FakeAPI
	cli  CLI
	read func(*http.Request, []byte, *claudetest.Request) error // what the API's body says
	// answer writes an answer that is no error.
	answer func(*exchange)
	// refuse returns the body of an error.
	refuse func(claudetest.Reply) any
}

// exchange is one request with its answer.
type exchange struct {
	w   http.ResponseWriter
	r   *http.Request
	cli CLI
	req claudetest.Request
	claudetest.Answer
}

func (h handler) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	req := claudetest.Request{CLI: string(h.cli), Raw: body}
	for _, name := range []string{"Session-Id", "X-Session-Id", "X-Session-Affinity"} {
		req.SessionID = cmp.Or(req.SessionID, r.Header.Get(name))
	}
	if err := h.read(r, body, &req); err != nil {
		respond(w, http.StatusBadRequest, h.refuse(claudetest.Reply{Status: http.StatusBadRequest, Error: "fake API: " + err.Error()}))
		return
	}
	x := &exchange{w: w, r: r, cli: h.cli, req: req, Answer: h.api.Take(req)}
	if x.Failed() {
		x.RetryHeader(w.Header())
		respond(w, x.Code(), h.refuse(x.Reply))
		return
	}
	h.answer(x)
}

// quiet is the answer to a request with Aside that wants a text.
func (x *exchange) quiet() {
	switch x.req.Aside {
	case "":
	case "title":
		x.Text = "Title"
	default:
		x.Text = "Aside: " + x.req.Aside
	}
}

// pieces calls piece with the two halves of a text. Between them it waits for the release if the answer holds its first
// text. It returns false if the client went away meanwhile.
func (x *exchange) pieces(index int, text string, piece func(string)) bool {
	runes := []rune(text)
	half := len(runes) / 2
	piece(string(runes[:half]))
	if x.Hold && index == 0 {
		select {
		case <-x.Released:
		case <-x.r.Context().Done():
			return false
		}
	}
	piece(string(runes[half:]))
	return true
}

// event writes a server-sent event, without a name if name is "". It ignores a write error, because a client that goes
// away cancels the request's context.
func (x *exchange) event(name string, data any) {
	if name != "" {
		fmt.Fprintf(x.w, "event: %s\n", name)
	}
	fmt.Fprintf(x.w, "data: %s\n\n", encode(data))
	x.w.(http.Flusher).Flush()
}

func (x *exchange) begin() { x.w.Header().Set("Content-Type", "text/event-stream") }

// encode returns v as JSON. The values are ours or a script's, so an error is a mistake in the test.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("realcli: %v", err))
	}
	return string(b)
}

func respond(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, encode(v)) // fails only if the client has gone away
}

// text returns a text block.
func text(s string) claudetest.Block { return claudetest.Block{Type: "text", Text: s} }

// say adds a message to the request. Messages of the system belong to the system prompt as well.
func say(req *claudetest.Request, role string, blocks ...claudetest.Block) {
	if len(blocks) == 0 {
		return
	}
	switch role {
	case "developer", "system":
		role = "system"
		req.System = append(req.System, blocks...)
	case "model":
		role = "assistant"
	case "tool":
		role = "user"
	}
	req.Messages = append(req.Messages, claudetest.Message{Role: role, Content: blocks})
}

// asides are what a request says, in its system prompt or in its last text, if the CLI asks besides the conversation.
var asides = []struct{ part, aside string }{
	{"You are a title generator", "title"},                 // OpenCode
	{"Write a ~5 word title", "title"},                     // oh-my-pi
	{"wrapped in `<title>` and", "title"},                  // oh-my-pi
	{"CONTEXT CHECKPOINT COMPACTION", "compaction"},        // Codex
	{"anchored summary", "compaction"},                     // OpenCode
	{"context summarization assistant", "compaction"},      // oh-my-pi
	{"structure of the <state_snapshot>", "compaction"},    // Gemini
	{"<state_snapshot>` XML", "compaction"},                // Gemini
	{"Analyze *only* the content and structure", "router"}, // Gemini: who speaks next
	{"primary intent or goal in this", "summary"},          // Gemini: at its start, of the session before it
}

// markAside finds out whether the CLI asks besides the conversation.
func markAside(req *claudetest.Request) {
	texts := req.NewTexts()
	if len(texts) > 1 {
		texts = texts[len(texts)-1:]
	}
	// A system prompt of the conversation may quote anything; that of an aside offers no tools.
	if len(req.Tools) == 0 {
		texts = append(texts, req.SystemText())
	}
	for _, a := range asides {
		if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, a.part) }) {
			req.Aside = a.aside
			return
		}
	}
}

// sample returns a value that fits a JSON schema: the first of several choices, a short text, zero.
func sample(schema map[string]any) any {
	if choices, ok := schema["enum"].([]any); ok && len(choices) > 0 {
		return choices[0]
	}
	switch kind, _ := schema["type"].(string); strings.ToLower(kind) {
	case "object":
		out := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			if p, ok := property.(map[string]any); ok {
				out[name] = sample(p)
			}
		}
		return out
	case "array":
		return []any{}
	case "boolean":
		return false
	case "integer", "number":
		return cmp.Or(schema["minimum"], any(0))
	}
	return "Title"
}
