package omp

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// entry has the fields of an entry that we need.
type entry struct {
	Kind     string                               `json:"type"`
	ID       string                               `json:"id"`
	Parent   jsontext.Value                       `json:"parentId"` // null: the entry is the first one
	At       time.Time                            `json:"timestamp"`
	Content  runtimes.Content[runtimes.TextBlock] `json:"content"`
	Summary  jsontext.Value                       `json:"summary"`
	After    int64                                `json:"tokensAfter"`
	Model    string                               `json:"model"`
	Role     string                               `json:"role"`
	Fallback bool                                 `json:"resolvedModelIsFallback"`
	Message  struct {
		Role    string                  `json:"role"`
		Model   string                  `json:"model"`
		Stopped string                  `json:"stopReason"`
		Content runtimes.Content[block] `json:"content"`
		Call    string                  `json:"toolCallId"` // that a result answers
		Tool    string                  `json:"toolName"`
		Failed  bool                    `json:"isError"`
		Details struct {
			Phases []struct { // of the tool todo: the whole list
				Tasks jsontext.Value `json:"tasks"`
			} `json:"phases"`
		} `json:"details"`
		Usage struct {
			Input      int64 `json:"input"`
			Output     int64 `json:"output"`
			CacheRead  int64 `json:"cacheRead"`
			CacheWrite int64 `json:"cacheWrite"`
			Cost       struct {
				Total *float64 `json:"total"`
			} `json:"cost"`
		} `json:"usage"`
	} `json:"message"`
}

// block is a block of a message: a text, or a call of a tool.
type block struct {
	Kind      string         `json:"type"`
	Text      jsontext.Value `json:"text"`
	ID        string         `json:"id"`
	Tool      string         `json:"name"`
	Arguments struct {
		Path    string `json:"path"`
		Command string `json:"command"`
	} `json:"arguments"`
}

// readLine reads one entry of a session file. The kinds of entries that matter: "message", with a message of the user, of
// the model ("assistant") or of a tool ("toolResult"); "custom_message", a text that the CLI or an extension gives the
// model, such as our answer to the end of a turn; "model_change", the choice of a model; "compaction", the summary in place of what
// came before; and "branch_summary", the summary of what a person has taken back.
func readLine(raw []byte) (runtimes.Line, error) {
	var e entry
	err := runtimes.Decode(raw, &e)
	content, summary := runtimes.Texts(e.Content), [][]byte{e.Summary}
	l := runtimes.Line{Kind: e.Kind, At: e.At, PostTokens: e.After, Message: e.message(), Failed: e.Message.Stopped == "error"}
	if e.Parent != nil {
		l.Place = runtimes.Place{ID: e.ID, Parent: runtimes.Unquote(e.Parent)}
	}
	switch l.Kind {
	case "message":
		l.Kind = l.Message.Role
		l.Message.ID = e.ID
		if l.Kind == "toolResult" {
			l.Kind, l.Message.Role, l.Message.Texts = "user", "user", nil
		}
	case "model_change":
		// With other roles the CLI works around a model that is refused, or chooses one for itself.
		if !e.Fallback && (e.Role == "" || e.Role == "default" || e.Role == "temporary") {
			l.Chosen = e.Model
		}
	case "custom_message":
		// The CLI adds such texts by itself, too. Only ours, which name themselves, count as somebody's.
		l.Kind, l.Message.Role, l.Message.Texts = "user", "user", content
		l.Meta = len(content) == 0 || !runtimes.IsOurs(runtimes.Unquote(content[0]))
	case "branch_summary": // what the CLI tells the model of a branch that a person has left
		l.Kind, l.Message.Role, l.Message.Texts, l.Summary = "user", "user", summary, true
	case "compaction":
		l.Kind, l.Message.Role, l.Message.Texts, l.Summary, l.Compacted = "user", "user", summary, true, true
	}
	return l, err
}

func (e *entry) message() runtimes.Message {
	u := e.Message.Usage
	m := runtimes.Message{Role: e.Message.Role, Model: e.Message.Model, Used: u.Input + u.CacheRead + u.CacheWrite}
	m.Spent.Tokens = runtimes.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	m.Spent.Micros = runtimes.Cost(u.Cost.Total)
	if text := e.Message.Content.Text; text != nil {
		m.Texts = [][]byte{text}
	}
	for _, b := range e.Message.Content.Blocks {
		switch {
		case b.Kind == "text" && b.Text != nil:
			m.Texts = append(m.Texts, b.Text)
		case b.Kind == "toolCall":
			path := b.Arguments.Path
			if !editors[b.Tool] {
				path, _, _ = strings.Cut(path, ":") // read takes PATH:LINES, too
			}
			m.Call(runtimes.Call{ID: b.ID, Tool: b.Tool, Path: path, Command: b.Arguments.Command}, editors[b.Tool])
		}
	}
	if phases := e.Message.Details.Phases; e.Message.Tool == "todo" && !e.Message.Failed && phases != nil {
		c := runtimes.TodoChange{Whole: true}
		for _, p := range phases {
			list, _ := runtimes.TodoList(p.Tasks)
			c.List = append(c.List, list...)
		}
		m.Todos = []runtimes.TodoChange{c}
	}
	m.Answer(e.Message.Call, e.Message.Failed)
	return m
}

// editors are the tools of oh-my-pi that change a file.
var editors = map[string]bool{"write": true, "edit": true, "ast_edit": true}
