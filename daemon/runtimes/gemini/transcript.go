package gemini

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/limittext"
	"github.com/understudyd/understudy/hooks"
)

// editors are the tools of Gemini CLI that change a file.
var editors = []string{"write_file", "replace"}

// readLine reads a line of a session file. The CLI writes an answer again under the same id when it learns its tokens
// or adds calls of tools; it gives the text again as well.
func readLine(line []byte) (runtimes.Line, error) {
	var l runtimes.Line
	calls := false
	s := runtimes.NewSkim(line)
	if s.D.PeekKind() != '{' {
		s.Err = runtimes.ErrNotJSON
	}
	s.Object(func(key string) {
		switch key {
		case "id":
			l.Message.Id = s.Text()
			l.Place.Name = l.Message.Id
		case "$rewindTo":
			l.Place.From = s.Text()
		case "timestamp":
			l.At, _ = time.Parse(time.RFC3339, s.Text()) // the zero time if the text is not a time
		case "type":
			l.Kind = s.Text()
		case "model":
			l.Message.Model = s.Text()
		case "content":
			l.Message.Texts = s.Texts()
		case "tokens":
			readUsage(&l.Message, s)
		case "toolCalls":
			s.Array(func() { calls = true; readCall(&l.Message, s) })
		}
	})
	s.End()
	switch l.Kind {
	case "gemini":
		l.Kind, l.Message.Role = "assistant", "assistant"
		if calls {
			l.Message.Texts = nil // an earlier line with this id had the text
		}
	case "user":
		l.Message.Role = "user"
		l.Meta = len(l.Message.Texts) > 0 && isHarness(runtimes.Unquote(l.Message.Texts[0]))
		if !l.Meta { // behind a prompt stands what a hook has added to it
			l.Message.Texts = slices.DeleteFunc(l.Message.Texts, func(text []byte) bool { return isHarness(runtimes.Unquote(text)) })
		}
	}
	return l, s.Err
}

// readCall reads a call of a tool with its result.
func readCall(m *runtimes.Message, s *runtimes.Skim) {
	var id, tool, path, command, status string
	var todos []byte
	s.Object(func(key string) {
		switch key {
		case "id":
			id = s.Text()
		case "name":
			tool = s.Text()
		case "status":
			status = s.Text()
		case "args":
			s.Object(func(key string) {
				switch key {
				case "file_path":
					path = s.Text()
				case "command":
					command = s.Text()
				case "todos":
					todos = s.Raw()
				}
			})
		}
	})
	if list, ok := runtimes.TodoList(todos); ok && tool == "write_todos" {
		m.Todos = append(m.Todos, runtimes.TodoChange{Call: id, Whole: true, List: list})
	}
	if path != "" && slices.Contains(editors, tool) {
		m.Edited = append(m.Edited, runtimes.Edit{Path: path, Call: id})
	}
	m.Note(runtimes.Call{Id: id, Tool: tool, Path: path, Command: command})
	switch status {
	case "success":
		m.Answer(id, false)
	case "error", "cancelled":
		m.Answer(id, true)
	}
}

// isHarness reports whether the CLI itself wrote a text in the user's name.
func isHarness(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<session_context>") || strings.HasPrefix(text, "<hook_context>")
}

// withoutMarks returns the part of a text that a person wrote; "": no part.
func withoutMarks(text string) string {
	if isHarness(text) {
		return ""
	}
	return runtimes.WithoutOurs(text)
}

const (
	errorMark = "[API Error: "
	cancelled = "Request cancelled."
	// A hook has refused the prompt, which the model never sees. The CLI writes the same if a hook holds the end of a turn.
	blocked = "Agent execution blocked: "
	// A hook has ended the turn. A prompt that it has stopped is part of the conversation all the same.
	stopped = "Agent execution stopped: "
)

// tail reads from the session file what no hook tells: that an error of the API ended a turn, and that a person or a hook did.
func tail(session string, line []byte) (runtimes.Report, bool) {
	if !slices.ContainsFunc([]string{errorMark, cancelled, blocked, stopped}, func(mark string) bool { return bytes.Contains(line, []byte(mark)) }) {
		return runtimes.Report{}, false
	}
	var l struct {
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		Timestamp time.Time       `json:"timestamp"`
		Content   json.RawMessage `json:"content"`
	}
	if json.Unmarshal(line, &l) != nil || l.ID == "" {
		return runtimes.Report{}, false
	}
	text := runtimes.Unquote(l.Content)
	body := map[string]any{"session_id": session}
	r := runtimes.Report{At: l.Timestamp}
	switch {
	case l.Type == "info" && text == cancelled:
		r.Event = hooks.Interrupt
	case l.Type == "error" && strings.HasPrefix(text, errorMark):
		r.Event = hooks.StopFailure
		body["error"], body["last_assistant_message"] = trouble(text)
	case l.Type == "warning" && strings.HasPrefix(text, blocked):
		r.Event, body["reason"] = hooks.PromptRefused, strings.TrimPrefix(text, blocked)
	case l.Type == "info" && strings.HasPrefix(text, stopped):
		r.Event, body["reason"], body["kept"] = hooks.PromptRefused, strings.TrimPrefix(text, stopped), true
	default:
		return runtimes.Report{}, false
	}
	r.Key, r.Body = r.Event+" "+l.ID, runtimes.Marshal(body)
	return r, true
}

// troubles are the codes of trouble by the status of an error.
var troubles = map[string]string{
	"RESOURCE_EXHAUSTED": runtimes.RateLimit, "UNAUTHENTICATED": runtimes.Unauthenticated, "PERMISSION_DENIED": runtimes.Unauthenticated, "NOT_FOUND": runtimes.UnknownModel,
	"INVALID_ARGUMENT": runtimes.InvalidRequest, "FAILED_PRECONDITION": runtimes.InvalidRequest, "UNAVAILABLE": runtimes.Overloaded, "INTERNAL": runtimes.ServerError,
}

// trouble returns the code of an error and its text, of "[API Error: TEXT]" or "[API Error: JSON]" with more behind it.
func trouble(shown string) (code, text string) {
	text, rest, _ := strings.Cut(strings.TrimPrefix(shown, errorMark), "\n")
	text = strings.TrimSuffix(strings.TrimSpace(text), "]")
	if strings.HasPrefix(text, "{") { // the JSON may have line breaks
		text = strings.TrimSuffix(strings.TrimSpace(text+"\n"+rest), "]")
	}
	var body struct {
		Error struct {
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"error"`
	}
	lower := strings.ToLower(text)
	switch {
	case json.NewDecoder(strings.NewReader(text)).Decode(&body) == nil && body.Error.Status != "":
		if text = body.Error.Message; troubles[body.Error.Status] != "" {
			return troubles[body.Error.Status], text
		}
		return runtimes.OtherTrouble, text
	case limittext.IsUsageLimit(text):
		return runtimes.UsageLimit, text
	case limittext.HasAny(lower, limittext.Momentary):
		return runtimes.RateLimit, text
	case strings.Contains(lower, "api key"):
		return runtimes.Unauthenticated, text
	}
	return runtimes.OtherTrouble, text
}

// readUsage reads the usage of an answer. The CLI counts tokens from the cache among those of the input, and the
// thoughts beside the output.
func readUsage(m *runtimes.Message, s *runtimes.Skim) {
	var tool int64 // of the results of tools, which the CLI counts beside the input
	s.Object(func(key string) {
		switch key {
		case "input":
			m.Used = s.Number()
			m.Spent.Input = m.Used
		case "output":
			m.Spent.Output = s.Number()
		case "cached":
			m.Spent.CacheRead = s.Number()
		case "thoughts":
			m.Spent.Reasoning = s.Number()
		case "tool":
			tool = s.Number()
		}
	})
	m.Spent.Input = max(0, m.Spent.Input-m.Spent.CacheRead) + tool
	m.Spent.Output += m.Spent.Reasoning
}
