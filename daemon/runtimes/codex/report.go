package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/limittext"
	"github.com/understudyd/understudy/hooks"
)

// report reads a hook of Codex, which has Claude Code's fields except for the turn's id. A patch that writes one file
// becomes a call of Write, so that the daemon can allow the files that it has named itself.
func report(event string, body []byte) (runtimes.Report, error) {
	if !slices.Contains(events, event) {
		return runtimes.Report{}, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return runtimes.Report{}, fmt.Errorf("hook %s of Codex: %w", event, err)
	}
	if turn, ok := fields["turn_id"]; ok {
		fields["prompt_id"] = turn
		delete(fields, "turn_id")
	}
	if event == hooks.PermissionRequest {
		var tool string
		var in struct{ Command string }
		_ = json.Unmarshal(fields["tool_name"], &tool) // a tool without a name needs no change
		_ = json.Unmarshal(fields["tool_input"], &in)
		if paths := patched(in.Command); tool == "apply_patch" && len(paths) == 1 {
			fields["tool_name"] = json.RawMessage(`"Write"`)
			fields["tool_input"] = runtimes.Marshal(map[string]string{"file_path": paths[0]})
		}
	}
	return runtimes.Report{Event: event, Body: runtimes.Marshal(fields)}, nil
}

// turnEnd is the line of a rollout that ends a turn.
type turnEnd struct {
	Timestamp time.Time `json:"timestamp"`
	Payload   struct {
		Type  string `json:"type"`
		Turn  string `json:"turn_id"`
		Error *struct {
			Message string          `json:"message"`
			Info    json.RawMessage `json:"codex_error_info"`
		} `json:"error"`
		Answer *string  `json:"last_agent_message"`
		Asked  *float64 `json:"time_to_first_token_ms"` // nil: the model has answered nothing
	} `json:"payload"`
}

// tail reads the end of a turn from the rollout: an error, for which Codex runs no hook; a person's interruption, or a
// good end, whose hook may have been lost. Codex writes the line after the hook of the Stop has been answered. So a good end
// only says that the agent is idle, and changes nothing if the Stop has said so.
func tail(session string, line []byte) (runtimes.Report, bool) {
	if !bytes.Contains(line, []byte(`"task_complete"`)) && !bytes.Contains(line, []byte(`"turn_aborted"`)) {
		return runtimes.Report{}, false
	}
	var l turnEnd
	if json.Unmarshal(line, &l) != nil || l.Payload.Turn == "" {
		return runtimes.Report{}, false
	}
	body := map[string]any{"session_id": session, "prompt_id": l.Payload.Turn}
	r := runtimes.Report{At: l.Timestamp}
	switch {
	case l.Payload.Type == "turn_aborted":
		r.Event = hooks.Interrupt
	case l.Payload.Type == "task_complete" && l.Payload.Error == nil && l.Payload.Answer == nil && l.Payload.Asked == nil:
		// The model was not asked. If a prompt began this turn, a hook has refused it; the line does not say why.
		r.Event = hooks.PromptRefused
	case l.Payload.Type == "task_complete" && l.Payload.Error == nil:
		r.Event, body["notification_type"] = hooks.Notification, "idle_prompt"
	case l.Payload.Type == "task_complete":
		r.Event = hooks.StopFailure
		text := l.Payload.Error.Message
		body["error"], body["last_assistant_message"] = trouble(l.Payload.Error.Info, text), text
		if at, ok := limittext.ReadReset(text, l.Timestamp, time.Local, time.LoadLocation); body["error"] == runtimes.UsageLimit && ok {
			body["resets_at"] = at.Unix()
		}
	default:
		return runtimes.Report{}, false
	}
	r.Key = r.Event + " " + l.Payload.Turn
	r.Body = runtimes.Marshal(body)
	return r, true
}

// trouble returns the code of an error, in Claude Code's words. info is a word, or an object whose only member is a
// word with a status.
func trouble(info json.RawMessage, text string) string {
	var word string
	if json.Unmarshal(info, &word) == nil {
		switch {
		case word == "other" && strings.HasPrefix(text, "stream disconnected"):
			return runtimes.ServerError
		case word == "usage_limit_exceeded" && strings.HasPrefix(text, "Quota exceeded"):
			return runtimes.Billing
		case word == "usage_limit_exceeded":
			return runtimes.UsageLimit
		case word == "unauthorized":
			return runtimes.Unauthenticated
		case word == "context_window_exceeded":
			return runtimes.ContextFull
		case word == "bad_request":
			return runtimes.InvalidRequest
		case word == "internal_server_error":
			return "server_error"
		case word == "server_overloaded":
			return "overloaded"
		}
		return "unknown"
	}
	var members map[string]struct {
		Status int `json:"http_status_code"`
	}
	_ = json.Unmarshal(info, &members) // without a member the trouble is unknown
	for _, m := range members {
		if m.Status == 0 { // the API did not answer, or its answer broke off
			return runtimes.ServerError
		}
		return runtimes.OfStatus(m.Status)
	}
	return "unknown"
}
