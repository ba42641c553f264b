package runtimes

import (
	"strings"
	"time"
)

// readOmpLine reads one entry of a session file. The kinds of entries that matter: "message", with a message of the user, of
// the model ("assistant") or of a tool ("toolResult"); "custom_message", a text that the CLI or an extension gives the
// model, such as our answer to the end of a turn; "model_change", the choice of a model; "compaction", the summary in place of what
// came before; and "branch_summary", the summary of what a person has taken back.
func readOmpLine(line []byte) (transcriptLine, error) {
	var l transcriptLine
	s := newSkim(line)
	if s.d.PeekKind() != '{' {
		s.err = errNotJSON
	}
	var id, parent, model, role string
	var fallback, named bool
	var content, summary [][]byte
	s.object(func(key string) {
		switch key {
		case "type":
			l.kind = s.text()
		case "id":
			id = s.text()
		case "parentId":
			parent, named = s.text(), true
		case "timestamp":
			l.at, _ = time.Parse(time.RFC3339, s.text()) // the zero time if the text is not a time
		case "message":
			readOmpMessage(s, &l)
		case "content":
			content = readContent(s).texts
		case "summary":
			summary = [][]byte{s.raw()}
		case "tokensAfter":
			l.postTokens = s.number()
		case "model":
			model = s.text()
		case "role":
			role = s.text()
		case "resolvedModelIsFallback":
			fallback = s.isTrue()
		}
	})
	s.end()
	if named {
		l.taken = Place{ID: id, Parent: parent}
	}
	switch l.kind {
	case "message":
		l.kind = l.message.role
		l.message.id = id
		if l.kind == "toolResult" {
			l.kind, l.message.role, l.message.texts = "user", "user", nil
		}
	case "model_change":
		// With other roles the CLI works around a model that is refused, or chooses one for itself.
		if !fallback && (role == "" || role == "default" || role == "temporary") {
			l.chosen = model
		}
	case "custom_message":
		// The CLI adds such texts by itself, too. Only ours, which name themselves, count as somebody's.
		l.kind, l.message.role, l.message.texts = "user", "user", content
		l.meta = len(content) == 0 || !ours().MatchString(unquote(content[0]))
	case "branch_summary": // what the CLI tells the model of a branch that a person has left
		l.kind, l.message.role, l.message.texts, l.summary = "user", "user", summary, true
	case "compaction":
		l.kind, l.message.role, l.message.texts, l.summary, l.compacted = "user", "user", summary, true, true
	}
	return l, s.err
}

func readOmpMessage(s *skim, l *transcriptLine) {
	m := &l.message
	var id, tool string // of the call that a result answers
	var failed bool
	var todos []TodoChange
	s.object(func(key string) {
		switch key {
		case "role":
			m.role = s.text()
		case "model":
			m.model = s.text()
		case "stopReason":
			l.failed = s.text() == "error"
		case "content":
			if s.d.PeekKind() == '"' {
				m.texts = [][]byte{s.raw()}
				return
			}
			s.array(func() { m.readOmpBlock(s) })
		case "toolCallId":
			id = s.text()
		case "toolName":
			tool = s.text()
		case "details":
			if c, ok := readOmpTodos(s); ok {
				todos = append(todos, c)
			}
		case "isError":
			failed = s.isTrue()
		case "usage":
			m.readOmpUsage(s)
		}
	})
	if tool == "todo" && !failed {
		m.todos = todos
	}
	m.answer(id, failed)
}

// ompEditors are the tools of oh-my-pi that change a file.
var ompEditors = map[string]bool{"write": true, "edit": true, "ast_edit": true}

func (m *message) readOmpBlock(s *skim) {
	var text []byte
	var kind, id, tool, path, command string
	s.object(func(key string) {
		switch key {
		case "type":
			kind = s.text()
		case "text":
			text = s.raw()
		case "id":
			id = s.text()
		case "name":
			tool = s.text()
		case "arguments":
			s.object(func(key string) {
				switch key {
				case "path":
					path = s.text()
				case "command":
					command = s.text()
				}
			})
		}
	})
	if kind == "text" && text != nil {
		m.texts = append(m.texts, text)
	}
	if kind == "toolCall" {
		path, _, _ := strings.Cut(path, ":") // read takes PATH:LINES, too
		m.note(call{id: id, tool: tool, path: path, command: command})
	}
	if kind == "toolCall" && path != "" && ompEditors[tool] {
		m.edited = append(m.edited, Edit{Path: path, Call: id})
	}
}
