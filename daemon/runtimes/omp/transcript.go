package omp

import (
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// readLine reads one entry of a session file. The kinds of entries that matter: "message", with a message of the user, of
// the model ("assistant") or of a tool ("toolResult"); "custom_message", a text that the CLI or an extension gives the
// model, such as our answer to the end of a turn; "model_change", the choice of a model; "compaction", the summary in place of what
// came before; and "branch_summary", the summary of what a person has taken back.
func readLine(line []byte) (runtimes.Line, error) {
	var l runtimes.Line
	s := runtimes.NewSkim(line)
	if s.D.PeekKind() != '{' {
		s.Err = runtimes.ErrNotJSON
	}
	var id, parent, model, role string
	var fallback, named bool
	var content, summary [][]byte
	s.Object(func(key string) {
		switch key {
		case "type":
			l.Kind = s.Text()
		case "id":
			id = s.Text()
		case "parentId":
			parent, named = s.Text(), true
		case "timestamp":
			l.At, _ = time.Parse(time.RFC3339, s.Text()) // the zero time if the text is not a time
		case "message":
			readMessage(s, &l)
		case "content":
			content = s.Texts()
		case "summary":
			summary = [][]byte{s.Raw()}
		case "tokensAfter":
			l.PostTokens = s.Number()
		case "model":
			model = s.Text()
		case "role":
			role = s.Text()
		case "resolvedModelIsFallback":
			fallback = s.IsTrue()
		}
	})
	s.End()
	if named {
		l.Place = runtimes.Place{ID: id, Parent: parent}
	}
	switch l.Kind {
	case "message":
		l.Kind = l.Message.Role
		l.Message.Id = id
		if l.Kind == "toolResult" {
			l.Kind, l.Message.Role, l.Message.Texts = "user", "user", nil
		}
	case "model_change":
		// With other roles the CLI works around a model that is refused, or chooses one for itself.
		if !fallback && (role == "" || role == "default" || role == "temporary") {
			l.Chosen = model
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
	return l, s.Err
}

func readMessage(s *runtimes.Skim, l *runtimes.Line) {
	m := &l.Message
	var id, tool string // of the call that a result answers
	var failed bool
	var todos []runtimes.TodoChange
	s.Object(func(key string) {
		switch key {
		case "role":
			m.Role = s.Text()
		case "model":
			m.Model = s.Text()
		case "stopReason":
			l.Failed = s.Text() == "error"
		case "content":
			if s.D.PeekKind() == '"' {
				m.Texts = [][]byte{s.Raw()}
				return
			}
			s.Array(func() { readBlock(m, s) })
		case "toolCallId":
			id = s.Text()
		case "toolName":
			tool = s.Text()
		case "details":
			if c, ok := readTodos(s); ok {
				todos = append(todos, c)
			}
		case "isError":
			failed = s.IsTrue()
		case "usage":
			readUsage(m, s)
		}
	})
	if tool == "todo" && !failed {
		m.Todos = todos
	}
	m.Answer(id, failed)
}

// editors are the tools of oh-my-pi that change a file.
var editors = map[string]bool{"write": true, "edit": true, "ast_edit": true}

func readBlock(m *runtimes.Message, s *runtimes.Skim) {
	var text []byte
	var kind, id, tool, path, command string
	s.Object(func(key string) {
		switch key {
		case "type":
			kind = s.Text()
		case "text":
			text = s.Raw()
		case "id":
			id = s.Text()
		case "name":
			tool = s.Text()
		case "arguments":
			s.Object(func(key string) {
				switch key {
				case "path":
					path = s.Text()
				case "command":
					command = s.Text()
				}
			})
		}
	})
	if kind == "text" && text != nil {
		m.Texts = append(m.Texts, text)
	}
	if kind == "toolCall" {
		path, _, _ := strings.Cut(path, ":") // read takes PATH:LINES, too
		m.Note(runtimes.Call{Id: id, Tool: tool, Path: path, Command: command})
	}
	if kind == "toolCall" && path != "" && editors[tool] {
		m.Edited = append(m.Edited, runtimes.Edit{Path: path, Call: id})
	}
}

// readTodos reads the details of a result of oh-my-pi's tool todo: the whole list, in phases.
func readTodos(s *runtimes.Skim) (c runtimes.TodoChange, ok bool) {
	c.Whole = true
	s.Object(func(key string) {
		if key != "phases" {
			return
		}
		ok = true
		s.Array(func() {
			s.Object(func(key string) {
				if key == "tasks" {
					list, _ := runtimes.TodoList(s.Raw())
					c.List = append(c.List, list...)
				}
			})
		})
	})
	return c, ok
}

// readUsage reads the usage of an answer.
func readUsage(m *runtimes.Message, s *runtimes.Skim) {
	s.Object(func(key string) {
		switch key {
		case "input":
			m.Spent.Input = s.Number()
			m.Used += m.Spent.Input
		case "cacheRead":
			m.Spent.CacheRead = s.Number()
			m.Used += m.Spent.CacheRead
		case "cacheWrite":
			m.Spent.CacheWrite = s.Number()
			m.Used += m.Spent.CacheWrite
		case "output":
			m.Spent.Output = s.Number()
		case "cost":
			s.Object(func(key string) {
				if key == "total" {
					m.Spent.Micros = s.Dollars()
				}
			})
		}
	})
	m.Spent.NoCost()
}
