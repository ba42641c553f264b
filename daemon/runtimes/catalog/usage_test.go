package catalog

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/runtimes/codex"
	"github.com/understudyd/understudy/daemon/runtimes/opencode"
)

// TestUsageOfEachRuntime counts what lines of the real transcripts' form say. Tokens from the cache are not counted as input as well.
func TestUsageOfEachRuntime(t *testing.T) {
	cents := func(n int64) *int64 { return &n }
	cost := 0.25
	opencodeLine := (&opencode.Message{Info: opencode.Info{ID: "msg_o", Role: "assistant", Model: "m", Cost: &cost,
		Tokens: opencode.Tokens{Input: 10, Output: 3, Reasoning: 2}}}).Lines("s", true, false)
	for _, tt := range []struct {
		name, runtime, line string
		key                 string
		want                runtimes.Tokens
		micros              *int64
	}{
		{"claude", "claude", `{"type":"assistant","requestId":"req_1","message":{"role":"assistant","id":"msg_1","model":"m","usage":{"input_tokens":4,"cache_creation_input_tokens":10,"cache_read_input_tokens":14000,"output_tokens":20}}}`,
			"msg_1", runtimes.Tokens{Input: 4, Output: 20, CacheRead: 14000, CacheWrite: 10}, nil},
		{"claude, without the id of a request", "claude", `{"type":"assistant","message":{"role":"assistant","id":"msg_1","model":"m","usage":{"input_tokens":4,"output_tokens":2}}}`,
			"f.jsonl/msg_1", runtimes.Tokens{Input: 4, Output: 2}, nil},
		{"claude, a sub-agent", "claude", `{"type":"assistant","isSidechain":true,"requestId":"r","message":{"role":"assistant","id":"msg_2","model":"m","usage":{"output_tokens":2}}}`,
			"msg_2", runtimes.Tokens{Output: 2}, nil},
		{"claude, written by the CLI", "claude", `{"type":"assistant","message":{"role":"assistant","id":"x","model":"<synthetic>","usage":{"output_tokens":2}}}`, "", runtimes.Tokens{}, nil},
		{"claude, the same answer under another request", "claude", `{"type":"assistant","isSidechain":true,"requestId":"r2","message":{"role":"assistant","id":"msg_2","model":"m","usage":{"output_tokens":2}}}`,
			"msg_2", runtimes.Tokens{Output: 2}, nil},
		{"claude, an id of a gateway's", "claude", `{"type":"assistant","requestId":"r","message":{"role":"assistant","id":"1","model":"m","usage":{"output_tokens":2}}}`,
			"1/r", runtimes.Tokens{Output: 2}, nil},
		{"codex", "codex", `{"timestamp":"2026-11-22T04:57:45.164Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":2400,"total_tokens":2440},"last_token_usage":{"input_tokens":1200,"cached_input_tokens":600,"cache_write_input_tokens":100,"output_tokens":20,"reasoning_output_tokens":5,"total_tokens":1220}}}}`,
			"f.jsonl/total 2440", runtimes.Tokens{Input: 500, Output: 20, CacheRead: 600, CacheWrite: 100, Reasoning: 5}, nil},
		{"codex, limits only", "codex", `{"type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{}}}`, "", runtimes.Tokens{}, nil},
		{"opencode", "opencode", string(opencodeLine), "f.jsonl/msg_o", runtimes.Tokens{Input: 10, Output: 5, Reasoning: 2}, cents(250_000)},
		{"omp", "omp", `{"type":"message","id":"ab12","message":{"role":"assistant","model":"m","usage":{"input":1234,"output":7,"cacheRead":1,"cacheWrite":2,"cost":{"total":0.011}}}}`,
			"f.jsonl/ab12", runtimes.Tokens{Input: 1234, Output: 7, CacheRead: 1, CacheWrite: 2}, cents(11_000)},
		{"omp, a price that is not known", "omp", `{"type":"message","id":"ab12","message":{"role":"assistant","model":"m","usage":{"input":1,"cost":{"total":0}}}}`,
			"f.jsonl/ab12", runtimes.Tokens{Input: 1}, nil},
		{"gemini", "gemini", `{"id":"g","type":"gemini","content":"x","model":"m","tokens":{"input":1000,"output":20,"cached":500,"thoughts":3,"tool":2,"total":1025}}`,
			"f.jsonl/g", runtimes.Tokens{Input: 502, Output: 23, CacheRead: 500, Reasoning: 3}, nil},
		{"a prompt", "claude", `{"type":"user","message":{"role":"user","content":"x"}}`, "", runtimes.Tokens{}, nil},
		{"cut off", "claude", `{"type":"assistant","message":{`, "", runtimes.Tokens{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rt := value(For(tt.runtime))(t)
			u, ok := rt.Usage("/dir/f.jsonl", []byte(tt.line))
			if ok != (tt.key != "") || u.Key != tt.key {
				t.Fatalf("key %q, ok %v; want %q", u.Key, ok, tt.key)
			}
			if ok && (u.Tokens != tt.want || (u.Micros == nil) != (tt.micros == nil) || u.Micros != nil && *u.Micros != *tt.micros) {
				t.Errorf("%+v, want %+v", u, tt)
			}
		})
	}
}

// TestUsageOfARecordedTranscript: an answer that takes several lines has one key.
func TestUsageOfARecordedTranscript(t *testing.T) {
	b := value(os.ReadFile(filepath.Join("../testdata", "transcript.jsonl")))(t)
	keys, lines := map[string]int64{}, 0
	for line := range bytes.Lines(b) {
		if u, ok := claude.Runtime.Usage("/f.jsonl", line); ok {
			lines++
			keys[u.Key] = max(keys[u.Key], u.Total())
		}
	}
	if lines <= len(keys) || len(keys) == 0 {
		t.Errorf("%d lines, %d answers: no answer takes several lines", lines, len(keys))
	}
}

func TestFilesOfSubagents(t *testing.T) {
	equal(t, `claude.Runtime.UsageDir("/p[/abc.jsonl")`, claude.Runtime.UsageDir("/p[/abc.jsonl"), "/p[/abc")
	equal(t, "a path that is no transcript's", claude.Runtime.UsageDir("/p/abc"), "")
	equal(t, "codex", codex.Runtime.UsageDir("/p/abc.jsonl"), "")
}
