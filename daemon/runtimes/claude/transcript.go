package claude

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// editors are the tools that change a file. Only older versions of Claude Code have MultiEdit.
var editors = []string{"Edit", "MultiEdit", "NotebookEdit", "Write"}

// entry has the fields of a line that we need.
type entry struct {
	Kind       string         `json:"type"`
	At         time.Time      `json:"timestamp"`
	Sidechain  bool           `json:"isSidechain"`
	Meta       bool           `json:"isMeta"`
	Summary    bool           `json:"isCompactSummary"`
	Failed     bool           `json:"isApiErrorMessage"`
	Request    string         `json:"requestId"`
	RequestRef string         `json:"requestRef"`
	Subtype    string         `json:"subtype"`
	Effort     string         `json:"effort"`
	Mode       string         `json:"permissionMode"`
	Operation  string         `json:"operation"` // on the queue of prompts
	Content    jsontext.Value `json:"content"`
	ID         string         `json:"uuid"`
	Parent     jsontext.Value `json:"parentUuid"` // null: the line is the first one
	Logical    string         `json:"logicalParentUuid"`
	Tip        jsontext.Value `json:"leafUuid"`
	Rewound    bool           `json:"rewound"`  // a person went to the tip
	Explicit   bool           `json:"explicit"` // the CLI is to go on at the tip, whatever else the file has; without a tip this says nothing
	Compacted  struct {
		Tokens int64 `json:"postTokens"`
		Kept   struct {
			IDs []string `json:"uuids"`
			All []string `json:"allUuids"`
		} `json:"preservedMessages"`
		Segment struct {
			Tail string `json:"tailUuid"`
		} `json:"preservedSegment"`
	} `json:"compactMetadata"`
	Message struct {
		Role    string                  `json:"role"`
		ID      string                  `json:"id"`
		Model   string                  `json:"model"`
		Content runtimes.Content[block] `json:"content"`
		Usage   struct {
			Input      int64 `json:"input_tokens"`
			CacheWrite int64 `json:"cache_creation_input_tokens"`
			CacheRead  int64 `json:"cache_read_input_tokens"`
			Output     int64 `json:"output_tokens"`
		} `json:"usage"`
		Mirrored *Spent `json:"used"`
	} `json:"message"`
	// Result is the result of a call, as the CLI notes it beside the text for the model. TaskCreate and TaskGet have a task.
	Result struct {
		Task struct {
			ID      string `json:"id"`
			Subject string `json:"subject"`
			Status  string `json:"status"`
		} `json:"task"`
	} `json:"toolUseResult"`
	Attachment struct {
		Kind   string                               `json:"type"`
		Prompt runtimes.Content[runtimes.TextBlock] `json:"prompt"`
	} `json:"attachment"`
	Chosen string `json:"chosenModel"`  // of OpenCode's mirror: the model that is to answer, as the launch takes it
	Unread bool   `json:"unreadPrompt"` // of OpenCode's mirror: the model has not been given the prompt
}

// block is a block of a message: a text, a call of a tool, or its result.
type block struct {
	Text  jsontext.Value `json:"text"`
	ID    string         `json:"id"`
	Tool  string         `json:"name"`
	Input struct {
		Path     string         `json:"file_path"`
		Notebook string         `json:"notebook_path"`
		Command  string         `json:"command"`
		Todos    jsontext.Value `json:"todos"`
		Task     string         `json:"taskId"`
		Subject  string         `json:"subject"`
		Status   string         `json:"status"`
	} `json:"input"`
	Answered string `json:"tool_use_id"`
	Failed   bool   `json:"is_error"`
}

// Spent is what an answer has used, as OpenCode's mirror tells it.
type Spent struct {
	runtimes.Tokens
	Micros *int64 `json:"cost_micros"`
}

// ReadLine reads a line of Claude Code's form, which OpenCode's mirror has as well.
func ReadLine(raw []byte) (runtimes.Line, error) {
	var e entry
	err := runtimes.Decode(raw, &e)
	l := runtimes.Line{
		Kind: e.Kind, At: e.At, Sidechain: e.Sidechain, Meta: e.Meta, Summary: e.Summary, Failed: e.Failed, Message: e.message(),
		Effort: e.Effort, Chosen: e.Chosen, Mode: e.Mode, Unread: e.Unread, Attached: e.Attachment.Kind, Prompt: runtimes.Texts(e.Attachment.Prompt),
		Subtype: e.Subtype, PostTokens: e.Compacted.Tokens, Request: cmp.Or(e.RequestRef, e.Request), Operation: e.Operation, Content: e.Content,
	}
	if t := e.Result.Task; t.ID != "" && t.Subject != "" {
		l.Todos = []runtimes.TodoChange{{ID: t.ID, Adds: true, Todo: runtimes.Todo{Text: runtimes.FirstOf(t.Subject), Status: runtimes.TodoStatusNamed(t.Status)}}}
	}
	l.Place = e.place(&l)
	return l, err
}

func (e *entry) message() runtimes.Message {
	u := e.Message.Usage
	m := runtimes.Message{Role: e.Message.Role, ID: e.Message.ID, Model: e.Message.Model, Used: u.Input + u.CacheWrite + u.CacheRead}
	m.Spent.Tokens = runtimes.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	if s := e.Message.Mirrored; s != nil {
		m.Spent = runtimes.Usage{Tokens: s.Tokens, Micros: s.Micros}
	}
	if text := e.Message.Content.Text; text != nil {
		m.Texts = [][]byte{text}
	}
	for i := range e.Message.Content.Blocks {
		e.Message.Content.Blocks[i].addTo(&m)
	}
	return m
}

func (b *block) addTo(m *runtimes.Message) {
	path := b.Input.Path
	if b.Tool == "NotebookEdit" {
		path = b.Input.Notebook
	}
	if b.Text != nil {
		m.Texts = append(m.Texts, b.Text)
	}
	m.Call(runtimes.Call{ID: b.ID, Tool: b.Tool, Path: path, Command: b.Input.Command}, slices.Contains(editors, b.Tool))
	b.addTodos(m)
	m.Answer(b.Answered, b.Failed)
}

// addTodos adds the change that a call of a tool makes: TodoWrite gives the whole list, TaskUpdate changes one todo. What
// TaskCreate makes is in its result, which has the id.
func (b *block) addTodos(m *runtimes.Message) {
	switch in := &b.Input; {
	case b.Tool == "TodoWrite":
		m.List(b.ID, in.Todos)
	case b.Tool == "TaskUpdate" && in.Task != "":
		c := runtimes.TodoChange{Call: b.ID, ID: in.Task, Todo: runtimes.Todo{Text: runtimes.FirstOf(in.Subject)}}
		if in.Status != "" {
			c.Todo.Status = runtimes.TodoStatusNamed(in.Status)
		}
		m.Todos = append(m.Todos, c)
	}
}

// place returns where the line stands.
func (e *entry) place(l *runtimes.Line) runtimes.Place {
	tip := runtimes.Unquote(e.Tip)
	switch {
	case e.Kind == "last-prompt" && e.Tip != nil && (e.Rewound || e.Explicit && tip != ""):
		return runtimes.Place{Tip: &tip}
	case e.ID == "" || e.Parent == nil:
		return runtimes.Place{}
	}
	p := runtimes.Place{
		ID: e.ID, Parent: cmp.Or(runtimes.Unquote(e.Parent), e.Logical), Kept: slices.Concat(e.Compacted.Kept.IDs, e.Compacted.Kept.All),
		Result: e.Kind == "user" && len(l.Message.Done)+len(l.Message.Failed) > 0,
	}
	if tail := e.Compacted.Segment.Tail; tail != "" {
		p.Kept = append(p.Kept, tail)
	}
	// Only a person's prompt can begin a conversation anew, or what a hook or the CLI has put before one.
	p.Gap = p.Parent == "" && (e.Kind == "assistant" || e.Summary || p.Result || e.Kind == "system" && e.Subtype == "compact_boundary")
	return p
}

// reminder matches a note to the model that the CLI puts into a user's text.
var reminder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`) })

// marks are the tags around a text that the CLI writes in the user's name: a command and its output, a
// shell command that a person ran, the end of a task.
var marks = []string{"command-name", "command-message", "command-args", "command-contents", "local-command-stdout",
	"local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr", "task-notification"}

// notices are the beginnings of the texts that the CLI writes in the user's name without marks.
var notices = []string{"[Request interrupted by user", "Stop hook feedback:"}

// WithoutMarks returns the part of the text that the user wrote, or "" if the user wrote no part of it.
func WithoutMarks(text string) string {
	if strings.Contains(text, "<system-reminder>") {
		text = reminder().ReplaceAllString(text, "")
	}
	if strings.Contains(text, "pasted_content") {
		text = runtimes.Wrapper().ReplaceAllString(text, "")
	}
	text = withoutLeadingMarks(strings.TrimSpace(text))
	if slices.ContainsFunc(notices, func(n string) bool { return strings.HasPrefix(text, n) }) || runtimes.IsOurs(text) {
		return ""
	}
	return text
}

// withoutLeadingMarks removes the marked parts at the start of the text. If a mark is not closed,
// everything behind it is removed.
func withoutLeadingMarks(text string) string {
	for strings.HasPrefix(text, "<") {
		name, _, _ := strings.Cut(text[1:], ">")
		if !slices.Contains(marks, name) {
			return text
		}
		_, text, _ = strings.Cut(text, "</"+name+">")
		text = strings.TrimSpace(text)
	}
	return text
}

// switched reports whether a text says that a person has changed the model in Claude Code. suffix belongs behind the
// model's name in later answers, to name what was chosen.
func switched(text string) (suffix string, ok bool) {
	const mark = "<local-command-stdout>Set model to "
	if !strings.HasPrefix(text, mark) {
		return "", false
	}
	if strings.Contains(text, "(1M context)") {
		suffix = "[1m]"
	}
	return suffix, true
}
