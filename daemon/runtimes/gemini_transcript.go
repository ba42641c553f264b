package runtimes

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/hooks"
)

// geminiEditors are the tools of Gemini CLI that change a file.
var geminiEditors = []string{"write_file", "replace"}

// readGeminiLine reads a line of a session file. The CLI writes an answer again under the same id when it learns its tokens
// or adds calls of tools; it gives the text again as well.
func readGeminiLine(line []byte) (transcriptLine, error) {
	var l transcriptLine
	calls := false
	s := newSkim(line)
	if s.d.PeekKind() != '{' {
		s.err = errNotJSON
	}
	s.object(func(key string) {
		switch key {
		case "id":
			l.message.id = s.text()
			l.taken.Name = l.message.id
		case "$rewindTo":
			l.taken.From = s.text()
		case "timestamp":
			l.at, _ = time.Parse(time.RFC3339, s.text()) // the zero time if the text is not a time
		case "type":
			l.kind = s.text()
		case "model":
			l.message.model = s.text()
		case "content":
			l.message.texts = readContent(s).texts
		case "tokens":
			l.message.readGeminiUsage(s)
		case "toolCalls":
			s.array(func() { calls = true; l.message.readGeminiCall(s) })
		}
	})
	s.end()
	switch l.kind {
	case "gemini":
		l.kind, l.message.role = "assistant", "assistant"
		if calls {
			l.message.texts = nil // an earlier line with this id had the text
		}
	case "user":
		l.message.role = "user"
		l.meta = len(l.message.texts) > 0 && isGeminiHarness(unquote(l.message.texts[0]))
		if !l.meta { // behind a prompt stands what a hook has added to it
			l.message.texts = slices.DeleteFunc(l.message.texts, func(text []byte) bool { return isGeminiHarness(unquote(text)) })
		}
	}
	return l, s.err
}

// readGeminiCall reads a call of a tool with its result.
func (m *message) readGeminiCall(s *skim) {
	var id, tool, path, command, status string
	var todos []byte
	s.object(func(key string) {
		switch key {
		case "id":
			id = s.text()
		case "name":
			tool = s.text()
		case "status":
			status = s.text()
		case "args":
			s.object(func(key string) {
				switch key {
				case "file_path":
					path = s.text()
				case "command":
					command = s.text()
				case "todos":
					todos = s.raw()
				}
			})
		}
	})
	if list, ok := todoList(todos); ok && tool == "write_todos" {
		m.todos = append(m.todos, TodoChange{Call: id, Whole: true, List: list})
	}
	if path != "" && slices.Contains(geminiEditors, tool) {
		m.edited = append(m.edited, Edit{Path: path, Call: id})
	}
	m.note(call{id: id, tool: tool, path: path, command: command})
	switch status {
	case "success":
		m.answer(id, false)
	case "error", "cancelled":
		m.answer(id, true)
	}
}

// isGeminiHarness reports whether the CLI itself wrote a text in the user's name.
func isGeminiHarness(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<session_context>") || strings.HasPrefix(text, "<hook_context>")
}

// withoutGeminiMarks returns the part of a text that a person wrote; "": no part.
func withoutGeminiMarks(text string) string {
	if isGeminiHarness(text) {
		return ""
	}
	return withoutOurs(text)
}

const (
	geminiErrorMark = "[API Error: "
	geminiCancelled = "Request cancelled."
	// A hook has refused the prompt, which the model never sees. The CLI writes the same if a hook holds the end of a turn.
	geminiBlocked = "Agent execution blocked: "
	// A hook has ended the turn. A prompt that it has stopped is part of the conversation all the same.
	geminiStopped = "Agent execution stopped: "
)

// tailGemini reads from the session file what no hook tells: that an error of the API ended a turn, and that a person or a hook did.
func tailGemini(session string, line []byte) (Report, bool) {
	if !slices.ContainsFunc([]string{geminiErrorMark, geminiCancelled, geminiBlocked, geminiStopped}, func(mark string) bool { return bytes.Contains(line, []byte(mark)) }) {
		return Report{}, false
	}
	var l struct {
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		Timestamp time.Time       `json:"timestamp"`
		Content   json.RawMessage `json:"content"`
	}
	if json.Unmarshal(line, &l) != nil || l.ID == "" {
		return Report{}, false
	}
	text := unquote(l.Content)
	body := map[string]any{"session_id": session}
	r := Report{At: l.Timestamp}
	switch {
	case l.Type == "info" && text == geminiCancelled:
		r.Event = hooks.Interrupt
	case l.Type == "error" && strings.HasPrefix(text, geminiErrorMark):
		r.Event = hooks.StopFailure
		body["error"], body["last_assistant_message"] = geminiTrouble(text)
	case l.Type == "warning" && strings.HasPrefix(text, geminiBlocked):
		r.Event, body["reason"] = hooks.PromptRefused, strings.TrimPrefix(text, geminiBlocked)
	case l.Type == "info" && strings.HasPrefix(text, geminiStopped):
		r.Event, body["reason"], body["kept"] = hooks.PromptRefused, strings.TrimPrefix(text, geminiStopped), true
	default:
		return Report{}, false
	}
	r.Key, r.Body = r.Event+" "+l.ID, marshal(body)
	return r, true
}

// geminiTroubles are the codes of trouble by the status of an error.
var geminiTroubles = map[string]string{
	"RESOURCE_EXHAUSTED": RateLimit, "UNAUTHENTICATED": Unauthenticated, "PERMISSION_DENIED": Unauthenticated, "NOT_FOUND": UnknownModel,
	"INVALID_ARGUMENT": InvalidRequest, "FAILED_PRECONDITION": InvalidRequest, "UNAVAILABLE": Overloaded, "INTERNAL": ServerError,
}

// geminiTrouble returns the code of an error and its text, of "[API Error: TEXT]" or "[API Error: JSON]" with more behind it.
func geminiTrouble(shown string) (code, text string) {
	text, rest, _ := strings.Cut(strings.TrimPrefix(shown, geminiErrorMark), "\n")
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
		if text = body.Error.Message; geminiTroubles[body.Error.Status] != "" {
			return geminiTroubles[body.Error.Status], text
		}
		return OtherTrouble, text
	case isUsageLimit(text):
		return UsageLimit, text
	case hasAny(lower, momentary):
		return RateLimit, text
	case strings.Contains(lower, "api key"):
		return Unauthenticated, text
	}
	return OtherTrouble, text
}
