package claudetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// FakeAPI is a fake of the Messages API with the part that Claude Code uses: POST /v1/messages, answered as a stream of
// server-sent events or in one piece. It listens on loopback. Other APIs can be added with Handle and Take.
type FakeAPI struct {
	URL string

	mux      *http.ServeMux
	mu       sync.Mutex
	script   Script
	requests []Request
	calls    int           // numbers messages and tool calls
	changed  chan struct{} // closed and renewed when a request arrives
	release  chan struct{} // closed and renewed by Release
}

// NewFakeAPI starts the fake; it ends with the test. A nil script is
// [WritesDocument]([Document]).
func NewFakeAPI(t testing.TB, script Script) *FakeAPI {
	t.Helper()
	if script == nil {
		script = WritesDocument(Document)
	}
	api := &FakeAPI{mux: http.NewServeMux(), script: script, changed: make(chan struct{}), release: make(chan struct{})}
	api.mux.HandleFunc("POST /v1/messages", api.messages)
	srv := httptest.NewServer(api.mux)
	api.URL = srv.URL
	t.Cleanup(func() {
		srv.CloseClientConnections() // ends held answers; Close would wait for them
		srv.Close()
	})
	return api
}

// SetScript replaces the script for all later requests.
func (api *FakeAPI) SetScript(script Script) {
	api.mu.Lock()
	defer api.mu.Unlock()
	api.script = script
}

// Release lets every held answer go on. It does not affect later answers.
func (api *FakeAPI) Release() {
	api.mu.Lock()
	defer api.mu.Unlock()
	close(api.release)
	api.release = make(chan struct{})
}

// Requests returns all requests so far, the oldest first.
func (api *FakeAPI) Requests() []Request {
	api.mu.Lock()
	defer api.mu.Unlock()
	return slices.Clone(api.requests)
}

// Await returns the first request that match accepts. It waits for it at most two minutes.
func (api *FakeAPI) Await(t testing.TB, what string, match func(Request) bool) Request {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for seen := 0; ; {
		api.mu.Lock()
		fresh, changed := api.requests[seen:], api.changed
		api.mu.Unlock()
		for _, r := range fresh {
			if match(r) {
				return r
			}
		}
		seen += len(fresh)
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("the API got no request with %s (%d requests in all)", what, seen)
		}
	}
}

// Handle adds another API to the fake. Its handler asks Take for the answers.
func (api *FakeAPI) Handle(pattern string, handler http.HandlerFunc) {
	api.mux.HandleFunc(pattern, handler)
}

func (api *FakeAPI) messages(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	req := Request{SessionID: r.Header.Get("X-Claude-Code-Session-Id"), Raw: body}
	if err := json.Unmarshal(body, &req); err != nil {
		writeError(w, http.StatusBadRequest, "fake API: "+err.Error())
		return
	}
	a := api.Take(req)
	switch {
	case a.Failed():
		if !a.Limit.IsZero() {
			limitHeaders(w.Header(), a.Limit)
		}
		a.RetryHeader(w.Header())
		writeError(w, a.Code(), a.Error)
	case req.Stream:
		s := &stream{w: w, id: a.ID, model: req.Model, reply: a.Reply}
		s.run(r.Context(), a.Released)
	default:
		writeJSON(w, http.StatusOK, message(a.ID, req.Model, a.Reply))
	}
}

// Answer is the script's reply to one request of the fake.
type Answer struct {
	Reply
	ID       int             // numbers the requests, from 1
	Released <-chan struct{} // closed by the next Release
}

// Take records a request and asks the script. It does not ask the script about a request with Aside.
func (api *FakeAPI) Take(req Request) Answer {
	api.mu.Lock()
	script := api.script
	api.calls++
	a := Answer{ID: api.calls, Released: api.release}
	api.requests = append(api.requests, req)
	close(api.changed)
	api.changed = make(chan struct{})
	api.mu.Unlock()
	if req.Aside == "" { // without the lock, because the script may call methods of the fake
		a.Reply = script(req)
	}
	return a
}

// limitHeaders sets the headers by which the API tells a subscription's usage limit from a plain 429.
func limitHeaders(h http.Header, until time.Time) {
	const prefix = "anthropic-ratelimit-unified-"
	reset := strconv.FormatInt(until.Unix(), 10)
	for name, value := range map[string]string{
		"status": "rejected", "reset": reset, "representative-claim": "five_hour",
		"5h-status": "rejected", "5h-reset": reset, "5h-utilization": "1.0",
		"overage-status": "rejected", "overage-disabled-reason": "org_level_disabled",
	} {
		h.Set(prefix+name, value)
	}
	h.Set("X-Should-Retry", "false")
}

// stream writes one answer as server-sent events.
type stream struct {
	w     http.ResponseWriter
	id    int
	model string
	reply Reply
}

func (s *stream) run(ctx context.Context, release <-chan struct{}) {
	s.w.Header().Set("Content-Type", "text/event-stream")
	start := message(s.id, s.model, Reply{InputTokens: s.reply.InputTokens, OutputTokens: s.reply.OutputTokens})
	start["content"], start["stop_reason"] = []any{}, nil
	s.send("message_start", map[string]any{"message": start})
	index := 0
	for i, text := range s.reply.Texts() {
		hold := release
		if i > 0 || !s.reply.Hold {
			hold = nil
		}
		if !s.text(ctx, index, text, hold) {
			return
		}
		index++
	}
	if s.reply.Tool != "" {
		s.tool(index)
	}
	full := message(s.id, s.model, s.reply)
	s.send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": full["stop_reason"], "stop_sequence": nil},
		"usage": full["usage"],
	})
	s.send("message_stop", map[string]any{})
}

// text writes one block. If release is not nil, it writes the second half only after the release. It returns false if the
// client went away meanwhile.
func (s *stream) text(ctx context.Context, index int, text string, release <-chan struct{}) bool {
	s.send("content_block_start", map[string]any{"index": index,
		"content_block": map[string]any{"type": "text", "text": ""}})
	delta := func(text string) {
		s.send("content_block_delta", map[string]any{"index": index,
			"delta": map[string]any{"type": "text_delta", "text": text}})
	}
	runes := []rune(text)
	half := len(runes) / 2
	delta(string(runes[:half]))
	if release != nil {
		select {
		case <-release:
		case <-ctx.Done():
			return false
		}
	}
	delta(string(runes[half:]))
	s.send("content_block_stop", map[string]any{"index": index})
	return true
}

func (s *stream) tool(index int) {
	input, err := json.Marshal(s.reply.Input)
	if err != nil {
		panic(fmt.Sprintf("claudetest: input of tool %s: %v", s.reply.Tool, err)) // the script is wrong
	}
	s.send("content_block_start", map[string]any{"index": index, "content_block": map[string]any{
		"type": "tool_use", "id": toolID(s.id), "name": s.reply.Tool, "input": map[string]any{}}})
	s.send("content_block_delta", map[string]any{"index": index,
		"delta": map[string]any{"type": "input_json_delta", "partial_json": string(input)}})
	s.send("content_block_stop", map[string]any{"index": index})
}

// send writes an event. It ignores a write error, because a client that goes away cancels the request's context.
func (s *stream) send(event string, data map[string]any) {
	data["type"] = event
	b, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("claudetest: event %s: %v", event, err))
	}
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, b)
	s.w.(http.Flusher).Flush()
}

// message returns the whole answer as one JSON object.
func message(id int, model string, r Reply) map[string]any {
	content, stop := []any{}, "end_turn"
	for _, text := range r.Texts() {
		content = append(content, map[string]any{"type": "text", "text": text})
	}
	if r.Tool != "" {
		stop = "tool_use"
		content = append(content, map[string]any{
			"type": "tool_use", "id": toolID(id), "name": r.Tool, "input": r.Input})
	}
	input, output := r.Tokens()
	return map[string]any{
		"id": fmt.Sprintf("msg_fake%08d", id), "type": "message", "role": "assistant", "model": model,
		"content": content, "stop_reason": stop, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": input, "output_tokens": output,
			"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
	}
}

// Texts returns the text blocks of an answer, at least one unless it calls a tool.
func (r Reply) Texts() []string {
	if r.Text == "" && r.Tool != "" {
		return r.More
	}
	return append([]string{r.Text}, r.More...)
}

func toolID(id int) string { return fmt.Sprintf("toolu_fake%08d", id) }

func writeError(w http.ResponseWriter, status int, text string) {
	kind := "api_error"
	switch {
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status < http.StatusInternalServerError:
		kind = "invalid_request_error"
	}
	writeJSON(w, status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has gone away
}
