package runtimes

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/hooks"
)

// transcriptLine has the fields of one line of a transcript that this package needs.
type transcriptLine struct {
	kind       string // user, assistant, attachment and many more
	at         time.Time
	sidechain  bool
	meta       bool // the CLI wrote the line by itself
	summary    bool // the line is the summary of the conversation that a compaction wrote
	failed     bool // the line looks like an answer, but reports an error of the API
	message    message
	todos      []TodoChange // what the result of a call says about the list of todos
	effort     string       // the thinking level of an answer; "": the line does not tell
	chosen     string       // the model that is chosen from this line on, as Spec.Model takes it; "": the line does not tell
	mode       string       // the permission mode from this line on, as Spec.Mode takes it; "": the line does not tell
	unread     bool         // the line is a prompt that the model has not been given
	attached   string       // kind of an attachment
	prompt     [][]byte     // texts of an attachment, as JSON strings
	subtype    string       // kind of a system line
	postTokens int64        // tokens in the context after a compaction
	compacted  bool         // the runtime compacted the context here, and the line is the summary
	request    string       // the API's id of the request of an answer; "": the line does not tell
	operation  string       // what was done to the queue of prompts
	content    []byte       // the prompt that was queued or taken out, as JSON
	tree       placeFields
	taken      Place // of a runtime that keeps no tree, and of oh-my-pi
}

// message is the message of a line. An answer of the model takes one line for each of its blocks; all of
// them have the same id.
type message struct {
	role, id, model string
	texts           [][]byte // as JSON strings
	edited          []Edit
	called          []call   // tool calls that name a file or a command
	done            []string // ids of tool calls that succeeded
	failed          []string // ids of tool calls that failed or were refused
	todos           []TodoChange
	used            int64 // tokens in the context
	window          int64 // size of the context window; 0: the line does not tell
	spent           Usage // what the answer has used; its Key and At are not those of [Runtime.Usage]
}

// editors are the tools that change a file. Only older versions of Claude Code have MultiEdit.
var editors = []string{"Edit", "MultiEdit", "NotebookEdit", "Write"}

// TranscriptContains reports whether a user's text in the transcript (a prompt, or the answer of a Stop
// hook) contains the nonce. jsonl is the transcript or a part of it. Three kinds of text do not count: a
// line that is cut off, the output of a tool (an agent may read the file with its own instruction), and a
// prompt that is only queued.
func (rt *Runtime) TranscriptContains(jsonl []byte, nonce string) bool {
	if nonce == "" {
		return false
	}
	return rt.anyUserText(jsonl, func(text string, _ time.Time) bool { return strings.Contains(text, nonce) })
}

// TranscriptHasPrompt reports whether a prompt equal to the text was submitted at the time since or later. It
// ignores the composer's changes, as [MatchesPrompt] does. Use it for a text without a nonce: to find such a
// text somewhere in the transcript proves nothing, because a short text may be part of many other prompts,
// and may have been submitted before since. Only behind a refusal of the text by a hook a person may have typed more
// behind it, because the CLI puts it back into the composer.
func (rt *Runtime) TranscriptHasPrompt(jsonl []byte, text string, since time.Time) bool {
	want := unwrapped(text)
	since = since.Truncate(time.Millisecond) // times in a transcript are milliseconds
	return want != "" && (rt.anyUserText(jsonl, func(got string, at time.Time) bool {
		return !at.Before(since) && unwrapped(got) == want
	}) || rt.hasReturned(jsonl, want, since))
}

// hasReturned reports whether a prompt with the text was refused, and at the time since or later a prompt was submitted that begins with it.
func (rt *Runtime) hasReturned(jsonl []byte, text string, since time.Time) bool {
	read := 0
	for line := range bytes.Lines(jsonl) {
		if !rt.Can.ReturnsRefused {
			break
		}
		read += len(line)
		r, ok := rt.Tail("", line)
		if !ok || r.Event != hooks.PromptRefused {
			continue
		}
		p, err := hooks.Parse(r.Event, r.Body)
		if err == nil && MatchesPrompt(p.Prompt, text) && rt.anyUserText(jsonl[read:], func(got string, at time.Time) bool {
			return !at.Before(since) && strings.HasPrefix(unwrapped(got), unwrapped(p.Prompt))
		}) {
			return true
		}
	}
	return false
}

// anyUserText reports whether wanted returns true for one of the user's texts.
func (rt *Runtime) anyUserText(jsonl []byte, wanted func(text string, at time.Time) bool) bool {
	for raw := range bytes.Lines(jsonl) {
		line, err := rt.line(raw)
		if err != nil || line.sidechain || line.unread {
			continue
		}
		for _, text := range line.userTexts() {
			if wanted(unquote(text), line.at) {
				return true
			}
		}
	}
	return false
}

// userTexts returns the texts of a line that reached the model as texts of the user: a prompt, the answer of
// a hook, or a text that was typed while a tool ran.
func (l *transcriptLine) userTexts() [][]byte {
	switch {
	case l.kind == "user" && l.message.role == "user":
		return l.message.texts
	case l.kind == "attachment" && l.attached == "queued_command":
		return l.prompt
	}
	return nil
}

func readLine(line []byte) (transcriptLine, error) {
	var l transcriptLine
	s := newSkim(line)
	if s.d.PeekKind() != '{' {
		s.err = errNotJSON
	}
	s.object(func(key string) {
		switch key {
		case "type":
			l.kind = s.text()
		case "timestamp":
			l.at, _ = time.Parse(time.RFC3339, s.text()) // the zero time if the text is not a time
		case "isSidechain":
			l.sidechain = s.isTrue()
		case "isMeta":
			l.meta = s.isTrue()
		case "isCompactSummary":
			l.summary = s.isTrue()
		case "isApiErrorMessage":
			l.failed = s.isTrue()
		case "operation":
			l.operation = s.text()
		case "requestId", "requestRef":
			l.request = s.text()
		case "content":
			l.content = s.raw()
		case "subtype":
			l.subtype = s.text()
		case "uuid":
			l.tree.id = s.text()
		case "parentUuid":
			l.tree.parent, l.tree.named = s.text(), true
		case "logicalParentUuid":
			l.tree.logical = s.text()
		case "leafUuid":
			tip := s.text()
			l.tree.tip = &tip
		case "rewound":
			l.tree.rewound = s.isTrue()
		case "explicit":
			l.tree.explicit = s.isTrue()
		case "compactMetadata":
			s.object(func(key string) {
				if key == "postTokens" {
					l.postTokens = s.number()
				}
				l.tree.readKept(s, key)
			})
		case "message":
			l.message = readMessage(s)
		case "effort":
			l.effort = s.text()
		case "permissionMode":
			l.mode = s.text()
		case chosenModel: // of OpenCode's mirror
			l.chosen = s.text()
		case unreadPrompt:
			l.unread = s.isTrue()
		case "toolUseResult":
			if c, ok := readTodoResult(s); ok {
				l.todos = append(l.todos, c)
			}
		case "attachment":
			l.attached, l.prompt = "", nil
			s.object(func(key string) {
				switch key {
				case "type":
					l.attached = s.text()
				case "prompt":
					l.prompt = readContent(s).texts
				}
			})
		}
	})
	s.end()
	return l, s.err
}

func readMessage(s *skim) (m message) {
	s.object(func(key string) {
		switch key {
		case "role":
			m.role = s.text()
		case "id":
			m.id = s.text()
		case "model":
			m.model = s.text()
		case "content":
			c := readContent(s)
			m.texts, m.edited, m.failed, m.called, m.done, m.todos = c.texts, c.edited, c.failed, c.called, c.done, c.todos
		case "usage":
			m.readClaudeUsage(s)
		case mirrorUsage:
			m.spent = readMirrorUsage(s)
		}
	})
	return m
}

// readContent reads the content of a message, which is a string or a list of blocks.
func readContent(s *skim) (m message) {
	if s.d.PeekKind() == '"' {
		m.texts = [][]byte{s.raw()}
		return m
	}
	s.array(func() { m.readBlock(s) })
	return m
}

func (m *message) readBlock(s *skim) {
	var text []byte // only text blocks have one
	var id, tool, path, notebook, command, answered string
	var failed bool
	var todo todoInput
	s.object(func(key string) {
		switch key {
		case "text":
			text = s.raw()
		case "id":
			id = s.text()
		case "name":
			tool = s.text()
		case "input":
			s.object(func(key string) {
				switch key {
				case "file_path":
					path = s.text()
				case "notebook_path":
					notebook = s.text()
				case "command":
					command = s.text()
				case "todos":
					todo.list = s.raw()
				case "taskId":
					todo.id = s.text()
				case "subject":
					todo.subject = s.text()
				case "status":
					todo.status = s.text()
				}
			})
		case "tool_use_id":
			answered = s.text()
		case "is_error":
			failed = s.isTrue()
		}
	})
	if tool == "NotebookEdit" {
		path = notebook
	}
	if text != nil {
		m.texts = append(m.texts, text)
	}
	if path != "" && slices.Contains(editors, tool) {
		m.edited = append(m.edited, Edit{Path: path, Call: id})
	}
	m.note(call{id: id, tool: tool, path: path, command: command})
	m.noteTodos(id, tool, todo)
	m.answer(answered, failed)
}
