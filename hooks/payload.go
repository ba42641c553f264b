package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"unicode/utf8"
)

const (
	truncatedField = "understudy_truncated"
	malformedField = "understudy_malformed"
	contextField   = "understudy_context" // set by [runtimes] that report the use of the context with their hooks

	// maxDrain is how many bytes of a payload that is too large Command reads and
	// drops, so that the CLI does not write to a closed pipe.
	maxDrain = 64 << 20
)

// payload reads stdin and returns the body to send. If ctx ends first, it returns a body without ids.
func payload(ctx context.Context, event string, stdin io.Reader) json.RawMessage {
	read := make(chan []byte, 1)
	go func() {
		body, _ := io.ReadAll(io.LimitReader(stdin, MaxBody+1))
		if len(body) > MaxBody {
			_, _ = io.Copy(io.Discard, io.LimitReader(stdin, maxDrain))
		}
		read <- body
	}()
	var body []byte
	select {
	case body = <-read:
	case <-ctx.Done(): // the CLI has not closed stdin; the goroutine is still reading, so its bytes cannot be used
		return salvage(event, nil, malformedField)
	}
	if len(body) > MaxBody {
		return salvage(event, body, truncatedField)
	}
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return json.RawMessage("{}")
	case body[0] != '{' || len(body) > MaxBody || !json.Valid(body):
		return salvage(event, body, malformedField)
	}
	return body
}

// salvage returns a small body in place of one that cannot be sent. It contains
// the ids that stand before the broken or missing part; the CLI writes ids first.
func salvage(event string, body []byte, why string) json.RawMessage {
	kept := map[string]any{"hook_event_name": event, why: true}
	dec := json.NewDecoder(bytes.NewReader(bytes.ToValidUTF8(body, []byte("\uFFFD"))))
	if open, err := dec.Token(); err == nil && open == json.Delim('{') {
		for {
			key, err := dec.Token()
			name, ok := key.(string)
			var value any
			if err != nil || !ok || dec.Decode(&value) != nil {
				break
			}
			keepID(kept, name, value)
		}
	}
	text, _ := json.Marshal(kept) // strings and bools cannot fail
	return text
}

func keepID(kept map[string]any, name string, value any) {
	switch name {
	case "session_id", "transcript_path", "cwd", "prompt_id", "turn_id", "agent_id", "source", "reason":
		if s, ok := value.(string); ok && len(s) <= 4096 {
			kept[name] = s
		}
	case "stop_hook_active":
		if b, ok := value.(bool); ok {
			kept[name] = b
		}
	}
}
