package realcli

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
)

// readResponses reads a request to OpenAI's Responses API.
func readResponses(r *http.Request, body []byte, req *claudetest.Request) error {
	var in struct {
		Model        string
		Stream       bool
		Instructions string
		Input        []struct {
			Type, Role string
			Name       string
			Content    json.RawMessage
			Arguments  string          // of a function call, in JSON
			Input      string          // of a custom tool's call
			Output     json.RawMessage // of either
		}
		Tools []claudetest.Tool
		Text  struct{ Format struct{ Type string } }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	req.Model, req.Stream, req.Tools = in.Model, in.Stream, in.Tools
	if in.Instructions != "" {
		req.System = claudetest.Content{text(in.Instructions)}
	}
	for _, item := range in.Input {
		switch item.Type {
		case "message", "":
			parts, err := textParts(item.Content)
			if err != nil {
				return err
			}
			say(req, item.Role, parts...)
		case "function_call":
			say(req, "assistant", incoming(Codex, item.Name, json.RawMessage(item.Arguments)))
		case "custom_tool_call":
			say(req, "assistant", unpatch(item.Input))
		case "function_call_output", "custom_tool_call_output":
			say(req, "user", result(item.Output))
		}
	}
	markAside(req)
	if in.Text.Format.Type == "json_schema" {
		req.Aside = "title"
	}
	return nil
}

// textParts returns the texts of a message, whose content is a text or a list of parts.
func textParts(content json.RawMessage) (out []claudetest.Block, err error) {
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	var s string
	if json.Unmarshal(content, &s) == nil {
		if s == "" {
			return nil, nil
		}
		return []claudetest.Block{text(s)}, nil
	}
	var parts []struct{ Text string }
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, fmt.Errorf("message content: %w", err)
	}
	for _, p := range parts {
		if p.Text != "" {
			out = append(out, text(p.Text))
		}
	}
	return out, nil
}

// result returns a tool's result as a block. A result that is no text becomes its JSON.
func result(output json.RawMessage) claudetest.Block {
	var s string
	if json.Unmarshal(output, &s) != nil {
		s = string(output)
	}
	return claudetest.Block{Type: "tool_result", Content: claudetest.Content{text(s)}}
}

// writeResponses streams an answer of the Responses API.
func writeResponses(x *exchange) {
	x.quiet()
	if x.req.Aside == "title" {
		x.Text = encode(map[string]any{"title": "Title"})
	}
	x.begin()
	id := fmt.Sprintf("resp_fake%08d", x.ID)
	send := func(kind string, data map[string]any) {
		data["type"] = kind
		x.event(kind, data)
	}
	send("response.created", map[string]any{"response": map[string]any{"id": id}})
	index := 0
	for i, s := range x.Texts() {
		item := fmt.Sprintf("msg_fake%08d_%d", x.ID, i)
		message := func(content ...any) map[string]any {
			return map[string]any{"type": "message", "role": "assistant", "id": item, "content": append([]any{}, content...)}
		}
		send("response.output_item.added", map[string]any{"output_index": index, "item": message()})
		if !x.pieces(i, s, func(delta string) {
			send("response.output_text.delta", map[string]any{"output_index": index, "content_index": 0, "item_id": item, "delta": delta})
		}) {
			return
		}
		send("response.output_item.done", map[string]any{"output_index": index,
			"item": message(map[string]any{"type": "output_text", "text": s, "annotations": []any{}})})
		index++
	}
	if x.Tool != "" {
		send("response.output_item.done", map[string]any{"output_index": index, "item": x.responsesCall()})
	}
	input, output := x.Tokens()
	send("response.completed", map[string]any{"response": map[string]any{"id": id, "usage": map[string]any{
		"input_tokens": input, "input_tokens_details": map[string]any{"cached_tokens": 0},
		"output_tokens": output, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
		"total_tokens": input + output,
	}}})
}

// responsesCall returns the tool's call as an item.
func (x *exchange) responsesCall() map[string]any {
	call := fmt.Sprintf("call_fake%08d", x.ID)
	if x.Tool == "Write" {
		path, _ := x.Input["file_path"].(string)
		content, _ := x.Input["content"].(string)
		return map[string]any{"type": "custom_tool_call", "call_id": call, "name": patchTool, "input": patch(path, content)}
	}
	name, input := x.outgoing()
	return map[string]any{"type": "function_call", "call_id": call, "name": name, "arguments": encode(input)}
}

// openAIError returns the body of an error of OpenAI's APIs. A usage limit is that of a subscription.
func openAIError(reply claudetest.Reply) any {
	if !reply.Limit.IsZero() {
		return map[string]any{"error": map[string]any{"type": "usage_limit_reached", "message": reply.Error,
			"plan_type": "plus", "resets_at": reply.Limit.Unix()}}
	}
	kind := "server_error"
	switch {
	case reply.Code() == http.StatusTooManyRequests:
		kind = "rate_limit_exceeded"
	case reply.Code() < http.StatusInternalServerError:
		kind = "invalid_request_error"
	}
	return map[string]any{"error": map[string]any{"type": kind, "message": reply.Error}}
}
