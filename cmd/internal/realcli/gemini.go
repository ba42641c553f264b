package realcli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
)

// geminiContent is one message of the Gemini API.
type geminiContent struct {
	Role  string
	Parts []struct {
		Text         string
		Thought      bool
		FunctionCall *struct {
			Name string
			Args json.RawMessage
		}
		FunctionResponse *struct{ Response json.RawMessage }
	}
}

// readGemini reads a request to the Gemini API: streamGenerateContent, generateContent or countTokens.
func readGemini(r *http.Request, body []byte, req *claudetest.Request) error {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	req.Model, req.Stream = model, method == "streamGenerateContent"
	var in struct {
		Contents          []geminiContent
		SystemInstruction geminiContent
		Tools             []struct{ FunctionDeclarations []claudetest.Tool }
		GenerationConfig  struct {
			ResponseJSONSchema map[string]any `json:"responseJsonSchema"`
			ResponseSchema     map[string]any
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	for _, p := range in.SystemInstruction.Parts {
		req.System = append(req.System, text(p.Text))
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, t.FunctionDeclarations...)
	}
	for _, c := range in.Contents {
		var blocks []claudetest.Block
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				blocks = append(blocks, incoming(Gemini, p.FunctionCall.Name, p.FunctionCall.Args))
			case p.FunctionResponse != nil:
				blocks = append(blocks, result(p.FunctionResponse.Response))
			case p.Text != "" && !p.Thought:
				blocks = append(blocks, text(p.Text))
			}
		}
		say(req, c.Role, blocks...)
	}
	markAside(req)
	switch {
	case method == "countTokens":
		req.Aside = "count"
	case in.GenerationConfig.ResponseJSONSchema != nil || in.GenerationConfig.ResponseSchema != nil:
		req.Aside = "schema"
	}
	return nil
}

// writeGemini answers as the Gemini API does.
func writeGemini(x *exchange) {
	x.quiet()
	switch x.req.Aside {
	case "count":
		respond(x.w, http.StatusOK, map[string]any{"totalTokens": 100})
		return
	case "schema":
		var in struct {
			GenerationConfig struct {
				ResponseJSONSchema map[string]any `json:"responseJsonSchema"`
				ResponseSchema     map[string]any
			}
		}
		_ = json.Unmarshal(x.req.Raw, &in) // readGemini has read it
		schema := in.GenerationConfig.ResponseJSONSchema
		if schema == nil {
			schema = in.GenerationConfig.ResponseSchema
		}
		x.Text = encode(sample(schema))
	}
	if !x.req.Stream {
		var parts []any
		for _, s := range x.Texts() {
			parts = append(parts, map[string]any{"text": s})
		}
		if x.Tool != "" {
			parts = append(parts, x.geminiCall())
		}
		respond(x.w, http.StatusOK, x.geminiChunk("STOP", parts...))
		return
	}
	x.begin()
	for i, s := range x.Texts() {
		if i > 0 {
			s = "\n\n" + s // the CLI joins the parts
		}
		if !x.pieces(i, s, func(part string) { x.event("", x.geminiChunk("", map[string]any{"text": part})) }) {
			return
		}
	}
	if x.Tool != "" {
		x.event("", x.geminiChunk("", x.geminiCall()))
	}
	x.event("", x.geminiChunk("STOP", map[string]any{"text": ""}))
}

func (x *exchange) geminiCall() map[string]any {
	name, input := x.outgoing()
	return map[string]any{"functionCall": map[string]any{"name": name, "args": input}}
}

// geminiChunk returns one chunk of an answer, or a whole one; finish is "" if more follows.
func (x *exchange) geminiChunk(finish string, parts ...any) map[string]any {
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	out := map[string]any{"candidates": []any{candidate}, "modelVersion": x.req.Model, "responseId": fmt.Sprintf("fake%08d", x.ID)}
	if finish != "" {
		input, output := x.Tokens()
		candidate["finishReason"] = finish
		out["usageMetadata"] = map[string]any{"promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output}
	}
	return out
}

// geminiError returns the body of an error of the Gemini API. A usage limit is that of a day.
func geminiError(reply claudetest.Reply) any {
	code := reply.Code()
	status := map[int]string{
		http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusUnauthorized: "UNAUTHENTICATED",
		http.StatusTooManyRequests: "RESOURCE_EXHAUSTED", http.StatusServiceUnavailable: "UNAVAILABLE",
	}[code]
	if status == "" {
		status = "INTERNAL"
	}
	e := map[string]any{"code": code, "status": status, "message": reply.Error}
	const rpc = "type.googleapis.com/google.rpc."
	var details []any
	if !reply.Limit.IsZero() {
		details = append(details, map[string]any{"@type": rpc + "QuotaFailure",
			"violations": []any{map[string]any{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}}})
	}
	wait := reply.Retry
	if wait == 0 && !reply.Limit.IsZero() {
		wait = max(time.Until(reply.Limit), time.Second)
	}
	if wait > 0 {
		details = append(details, map[string]any{"@type": rpc + "RetryInfo", "retryDelay": fmt.Sprintf("%ds", int(wait.Seconds()))})
	}
	if details != nil {
		e["details"] = details
	}
	return map[string]any{"error": e}
}
