package gemini

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/limittext"
	"github.com/understudyd/understudy/hooks"
)

// editors are the tools of Gemini CLI that change a file.
var editors = []string{"write_file", "replace"}

// entry has the fields of a line that we need.
type entry struct {
	ID      string                               `json:"id"`
	Back    string                               `json:"$rewindTo"`
	At      time.Time                            `json:"timestamp"`
	Kind    string                               `json:"type"`
	Model   string                               `json:"model"`
	Content runtimes.Content[runtimes.TextBlock] `json:"content"`
	Calls   []call                               `json:"toolCalls"`
	// Tokens from the cache are among those of the input, and the thoughts stand beside the output.
	Tokens struct {
		Input    int64 `json:"input"`
		Output   int64 `json:"output"`
		Cached   int64 `json:"cached"`
		Thoughts int64 `json:"thoughts"`
		Tool     int64 `json:"tool"` // of the results of tools, beside the input
	} `json:"tokens"`
}

// call is a call of a tool with its result.
type call struct {
	ID     string `json:"id"`
	Tool   string `json:"name"`
	Status string `json:"status"`
	Args   struct {
		Path    string         `json:"file_path"`
		Command string         `json:"command"`
		Todos   jsontext.Value `json:"todos"`
	} `json:"args"`
}

// readLine reads a line of a session file. The CLI writes an answer again under the same id when it learns its tokens
// or adds calls of tools; it gives the text again as well.
func readLine(raw []byte) (runtimes.Line, error) {
	var e entry
	err := runtimes.Decode(raw, &e)
	t := e.Tokens
	l := runtimes.Line{Kind: e.Kind, At: e.At, Place: runtimes.Place{Name: e.ID, From: e.Back}}
	l.Message = runtimes.Message{ID: e.ID, Model: e.Model, Texts: runtimes.Texts(e.Content), Used: t.Input}
	l.Message.Spent.Tokens = runtimes.Tokens{Input: max(0, t.Input-t.Cached) + t.Tool, Output: t.Output + t.Thoughts, CacheRead: t.Cached, Reasoning: t.Thoughts}
	for _, c := range e.Calls {
		c.addTo(&l.Message)
	}
	switch l.Kind {
	case "gemini":
		l.Kind, l.Message.Role = "assistant", "assistant"
		if len(e.Calls) > 0 {
			l.Message.Texts = nil // an earlier line with this id had the text
		}
	case "user":
		l.Message.Role = "user"
		l.Meta = len(l.Message.Texts) > 0 && isHarness(runtimes.Unquote(l.Message.Texts[0]))
		if !l.Meta { // behind a prompt stands what a hook has added to it
			l.Message.Texts = slices.DeleteFunc(l.Message.Texts, func(text []byte) bool { return isHarness(runtimes.Unquote(text)) })
		}
	}
	return l, err
}

func (c *call) addTo(m *runtimes.Message) {
	if c.Tool == "write_todos" {
		m.List(c.ID, c.Args.Todos)
	}
	m.Call(runtimes.Call{ID: c.ID, Tool: c.Tool, Path: c.Args.Path, Command: c.Args.Command}, slices.Contains(editors, c.Tool))
	switch c.Status {
	case "success":
		m.Answer(c.ID, false)
	case "error", "cancelled":
		m.Answer(c.ID, true)
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
