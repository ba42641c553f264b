package claude

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// editors are the tools that change a file. Only older versions of Claude Code have MultiEdit.
var editors = []string{"Edit", "MultiEdit", "NotebookEdit", "Write"}

// ReadLine reads a line of Claude Code's form, which OpenCode's mirror has as well.
func ReadLine(line []byte) (runtimes.Line, error) {
	var l runtimes.Line
	var tree treeFields
	s := runtimes.NewSkim(line)
	if s.D.PeekKind() != '{' {
		s.Err = runtimes.ErrNotJSON
	}
	s.Object(func(key string) {
		switch key {
		case "type":
			l.Kind = s.Text()
		case "timestamp":
			l.At, _ = time.Parse(time.RFC3339, s.Text()) // the zero time if the text is not a time
		case "isSidechain":
			l.Sidechain = s.IsTrue()
		case "isMeta":
			l.Meta = s.IsTrue()
		case "isCompactSummary":
			l.Summary = s.IsTrue()
		case "isApiErrorMessage":
			l.Failed = s.IsTrue()
		case "operation":
			l.Operation = s.Text()
		case "requestId", "requestRef":
			l.Request = s.Text()
		case "content":
			l.Content = s.Raw()
		case "subtype":
			l.Subtype = s.Text()
		case "uuid":
			tree.id = s.Text()
		case "parentUuid":
			tree.parent, tree.named = s.Text(), true
		case "logicalParentUuid":
			tree.logical = s.Text()
		case "leafUuid":
			tip := s.Text()
			tree.tip = &tip
		case "rewound":
			tree.rewound = s.IsTrue()
		case "explicit":
			tree.explicit = s.IsTrue()
		case "compactMetadata":
			s.Object(func(key string) {
				if key == "postTokens" {
					l.PostTokens = s.Number()
				}
				tree.readKept(s, key)
			})
		case "message":
			l.Message = readMessage(s)
		case "effort":
			l.Effort = s.Text()
		case "permissionMode":
			l.Mode = s.Text()
		case ChosenModel: // of OpenCode's mirror
			l.Chosen = s.Text()
		case UnreadPrompt:
			l.Unread = s.IsTrue()
		case "toolUseResult":
			if c, ok := readTodoResult(s); ok {
				l.Todos = append(l.Todos, c)
			}
		case "attachment":
			l.Attached, l.Prompt = "", nil
			s.Object(func(key string) {
				switch key {
				case "type":
					l.Attached = s.Text()
				case "prompt":
					l.Prompt = s.Texts()
				}
			})
		}
	})
	s.End()
	l.Place = tree.place(&l)
	return l, s.Err
}

func readMessage(s *runtimes.Skim) (m runtimes.Message) {
	s.Object(func(key string) {
		switch key {
		case "role":
			m.Role = s.Text()
		case "id":
			m.Id = s.Text()
		case "model":
			m.Model = s.Text()
		case "content":
			c := readContent(s)
			m.Texts, m.Edited, m.Failed, m.Called, m.Done, m.Todos = c.Texts, c.Edited, c.Failed, c.Called, c.Done, c.Todos
		case "usage":
			readUsage(&m, s)
		case MirrorUsage:
			m.Spent = readMirrorUsage(s)
		}
	})
	return m
}

// readContent reads the content of a message, which is a string or a list of blocks.
func readContent(s *runtimes.Skim) (m runtimes.Message) {
	if s.D.PeekKind() == '"' {
		m.Texts = [][]byte{s.Raw()}
		return m
	}
	s.Array(func() { readBlock(&m, s) })
	return m
}

func readBlock(m *runtimes.Message, s *runtimes.Skim) {
	var text []byte // only text blocks have one
	var id, tool, path, notebook, command, answered string
	var failed bool
	var todo todoInput
	s.Object(func(key string) {
		switch key {
		case "text":
			text = s.Raw()
		case "id":
			id = s.Text()
		case "name":
			tool = s.Text()
		case "input":
			s.Object(func(key string) {
				switch key {
				case "file_path":
					path = s.Text()
				case "notebook_path":
					notebook = s.Text()
				case "command":
					command = s.Text()
				case "todos":
					todo.list = s.Raw()
				case "taskId":
					todo.id = s.Text()
				case "subject":
					todo.subject = s.Text()
				case "status":
					todo.status = s.Text()
				}
			})
		case "tool_use_id":
			answered = s.Text()
		case "is_error":
			failed = s.IsTrue()
		}
	})
	if tool == "NotebookEdit" {
		path = notebook
	}
	if text != nil {
		m.Texts = append(m.Texts, text)
	}
	if path != "" && slices.Contains(editors, tool) {
		m.Edited = append(m.Edited, runtimes.Edit{Path: path, Call: id})
	}
	m.Note(runtimes.Call{Id: id, Tool: tool, Path: path, Command: command})
	noteTodos(m, id, tool, todo)
	m.Answer(answered, failed)
}

// treeFields are the fields by which Claude Code says where a line stands.
type treeFields struct {
	id, parent, logical string
	named               bool // the line names a parent, or that it has none
	tip                 *string
	rewound             bool // a person went to the tip
	explicit            bool // the CLI is to go on at the tip, whatever else the file has; without a tip this says nothing
	kept                []string
}

// place returns where the line stands.
func (f *treeFields) place(l *runtimes.Line) runtimes.Place {
	switch {
	case l.Kind == "last-prompt" && f.tip != nil && (f.rewound || f.explicit && *f.tip != ""):
		return runtimes.Place{Tip: f.tip}
	case f.id == "" || !f.named:
		return runtimes.Place{}
	}
	p := runtimes.Place{ID: f.id, Parent: f.parent, Kept: f.kept, Result: l.Kind == "user" && len(l.Message.Done)+len(l.Message.Failed) > 0}
	if p.Parent == "" {
		p.Parent = f.logical
	}
	// Only a person's prompt can begin a conversation anew, or what a hook or the CLI has put before one.
	p.Gap = p.Parent == "" && (l.Kind == "assistant" || l.Summary || p.Result || l.Kind == "system" && l.Subtype == "compact_boundary")
	return p
}

// readKept reads which lines a compaction kept in the context.
func (f *treeFields) readKept(s *runtimes.Skim, key string) {
	switch key {
	case "preservedMessages":
		s.Object(func(key string) {
			if key == "uuids" || key == "allUuids" {
				s.Array(func() { f.kept = append(f.kept, s.Text()) })
			}
		})
	case "preservedSegment":
		s.Object(func(key string) {
			if key == "tailUuid" {
				f.kept = append(f.kept, s.Text())
			}
		})
	}
}

// readUsage reads the usage of an answer.
func readUsage(m *runtimes.Message, s *runtimes.Skim) {
	s.Object(func(key string) {
		switch key {
		case "input_tokens":
			m.Spent.Input = s.Number()
			m.Used += m.Spent.Input
		case "cache_creation_input_tokens":
			m.Spent.CacheWrite = s.Number()
			m.Used += m.Spent.CacheWrite
		case "cache_read_input_tokens":
			m.Spent.CacheRead = s.Number()
			m.Used += m.Spent.CacheRead
		case "output_tokens":
			m.Spent.Output = s.Number()
		}
	})
}

// MirrorUsage is the field of an answer in OpenCode's mirror with what the answer has used.
const MirrorUsage = "used"

// MirrorSpent is the value of that field.
type MirrorSpent struct {
	runtimes.Tokens
	Micros *int64 `json:"cost_micros"`
}

// readMirrorUsage reads the field MirrorUsage.
func readMirrorUsage(s *runtimes.Skim) runtimes.Usage {
	var u MirrorSpent
	if json.Unmarshal(s.Raw(), &u) != nil {
		return runtimes.Usage{}
	}
	return runtimes.Usage{Tokens: u.Tokens, Micros: u.Micros}
}

// noteTodos adds the change that a call of a tool makes: TodoWrite gives the whole list, TaskUpdate changes one todo. What
// TaskCreate makes is in its result, which has the id.
func noteTodos(m *runtimes.Message, call, tool string, in todoInput) {
	switch tool {
	case "TodoWrite":
		if list, ok := runtimes.TodoList(in.list); ok {
			m.Todos = append(m.Todos, runtimes.TodoChange{Call: call, Whole: true, List: list})
		}
	case "TaskUpdate":
		c := runtimes.TodoChange{Call: call, ID: in.id, Todo: runtimes.Todo{Text: runtimes.FirstOf(in.subject)}}
		if in.status != "" {
			c.Todo.Status = runtimes.TodoStatusNamed(in.status)
		}
		if c.ID != "" {
			m.Todos = append(m.Todos, c)
		}
	}
}

// todoInput has the fields of a call's input that are about todos.
type todoInput struct {
	list                []byte // JSON
	id, subject, status string
}

// readTodoResult reads the result of TaskCreate, or of TaskGet, as Claude Code notes it beside the text for the model.
func readTodoResult(s *runtimes.Skim) (c runtimes.TodoChange, ok bool) {
	c.Adds = true
	status := ""
	s.Object(func(key string) {
		if key == "task" {
			s.Object(func(key string) {
				switch key {
				case "id":
					c.ID = s.Text()
				case "subject":
					c.Todo.Text = runtimes.FirstOf(s.Text())
				case "status":
					status = s.Text()
				}
			})
		}
	})
	c.Todo.Status = runtimes.TodoStatusNamed(status)
	return c, c.ID != "" && c.Todo.Text != ""
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

// UnreadPrompt is the field of the mirror's lines that marks a prompt that the model has not been given.
const UnreadPrompt = "unreadPrompt"

// ChosenModel is the field of the mirror's lines with the model that is to answer, as the launch takes it.
const ChosenModel = "chosenModel"

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
