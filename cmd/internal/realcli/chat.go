package realcli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
)

// readChat reads a request to OpenAI's Chat Completions API.
func readChat(r *http.Request, body []byte, req *claudetest.Request) error {
	var in struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role      string
			Content   json.RawMessage
			ToolCalls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct{ Function claudetest.Tool }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	req.Model, req.Stream = in.Model, in.Stream
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, t.Function)
	}
	for _, m := range in.Messages {
		blocks, err := textParts(m.Content)
		if err != nil {
			return err
		}
		if m.Role == "tool" {
			for i, b := range blocks {
				blocks[i] = claudetest.Block{Type: "tool_result", Content: claudetest.Content{b}}
			}
			if len(blocks) == 0 { // a tool that printed nothing
				blocks = []claudetest.Block{{Type: "tool_result"}}
			}
		}
		for _, call := range m.ToolCalls {
			blocks = append(blocks, incoming(CLI(req.CLI), call.Function.Name, json.RawMessage(call.Function.Arguments)))
		}
		say(req, m.Role, blocks...)
	}
	markAside(req)
	return nil
}

// writeChat answers as the Chat Completions API does: in a stream or, if the request wants none, in one piece.
func writeChat(x *exchange) {
	x.quiet()
	if x.req.Aside == "title" && x.cli == Pi {
		x.Text = "<title>Title</title>"
	}
	finish := "stop"
	if x.Tool != "" {
		finish = "tool_calls"
	}
	id := fmt.Sprintf("chatcmpl-fake%08d", x.ID)
	input, output := x.Tokens()
	usage := map[string]any{"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}
	if !x.req.Stream {
		message := map[string]any{"role": "assistant", "content": strings.Join(x.Texts(), "\n\n")}
		if x.Tool != "" {
			message["tool_calls"] = []any{x.chatCall()}
		}
		respond(x.w, http.StatusOK, map[string]any{"id": id, "object": "chat.completion", "created": 1, "model": x.req.Model, "usage": usage,
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
		return
	}
	x.begin()
	chunk := func(choices []any, more map[string]any) {
		data := map[string]any{"id": id, "object": "chat.completion.chunk", "created": 1, "model": x.req.Model, "choices": choices}
		for k, v := range more {
			data[k] = v
		}
		x.event("", data)
	}
	delta := func(d map[string]any, finish any) {
		chunk([]any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}, nil)
	}
	delta(map[string]any{"role": "assistant", "content": ""}, nil)
	for i, s := range x.Texts() {
		if i > 0 {
			s = "\n\n" + s // this API has one text for each answer
		}
		if !x.pieces(i, s, func(part string) { delta(map[string]any{"content": part}, nil) }) {
			return
		}
	}
	if x.Tool != "" {
		delta(map[string]any{"tool_calls": []any{x.chatCall()}}, nil)
	}
	delta(map[string]any{}, finish)
	chunk([]any{}, map[string]any{"usage": usage})
	fmt.Fprint(x.w, "data: [DONE]\n\n")
}

func (x *exchange) chatCall() map[string]any {
	name, input := x.outgoing()
	return map[string]any{"index": 0, "id": fmt.Sprintf("call_fake%08d", x.ID), "type": "function",
		"function": map[string]any{"name": name, "arguments": encode(input)}}
}
