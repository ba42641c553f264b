package runtimes

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// transcriptLine is one line of a transcript, as far as it is needed.
type transcriptLine struct {
	kind      string // user, assistant, attachment and many more
	at        time.Time
	sidechain bool
	meta      bool // put in by the CLI
	gist      bool // what a compaction left of the conversation
	failed    bool // an error of the API, in the shape of an answer
	message   message
	attached  string // kind of an attachment
	prompt    [][]byte
	subtype   string // kind of a system line
	left      int64  // tokens that a compaction left
	operation string // on the queue of prompts
	content   []byte // what was queued, or taken out; as it is written in JSON
}

// message is the message of a line. One answer of the model takes several lines, one for each
// block of it, with the same id.
type message struct {
	role, id, model string
	texts           [][]byte // as they are written in JSON
	edited          []Edit
	failed          []string // calls
	used            int64
}

// editors are the tools that change a file. MultiEdit is of older versions.
var editors = []string{"Edit", "MultiEdit", "NotebookEdit", "Write"}

// TranscriptContains tells whether a user's text in the transcript, which is a prompt or the
// answer of a Stop hook, contains the nonce. jsonl is the transcript or a part of it: a line that
// is cut off does not count. What tools returned does not count either (an agent may well read
// its own instruction back), nor what is only queued.
func TranscriptContains(jsonl []byte, nonce string) bool {
	if nonce == "" {
		return false
	}
	return anyUserText(jsonl, func(text string, _ time.Time) bool { return strings.Contains(text, nonce) })
}

// TranscriptHasPrompt tells whether a prompt that is the whole text, but for what the composer
// changes in it, was submitted at since or later. Without a nonce only that is evidence: a short
// text may stand in many others, and may have been said before.
func TranscriptHasPrompt(jsonl []byte, text string, since time.Time) bool {
	want := unwrapped(text)
	since = since.Truncate(time.Millisecond) // a transcript tells no more than that
	return anyUserText(jsonl, func(got string, at time.Time) bool {
		return want != "" && !at.Before(since) && unwrapped(got) == want
	})
}

// anyUserText looks for a text of the user's that is as wanted.
func anyUserText(jsonl []byte, wanted func(text string, at time.Time) bool) bool {
	for raw := range bytes.Lines(jsonl) {
		line, err := readLine(raw)
		if err != nil || line.sidechain {
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

// userTexts returns what reached the model as the user's text: a prompt, the answer of a hook, or
// what was typed while a tool ran.
func (l *transcriptLine) userTexts() [][]byte {
	switch {
	case l.kind == "user" && l.message.role == "user":
		return l.message.texts
	case l.kind == "attachment" && l.attached == "queued_command":
		return l.prompt
	}
	return nil
}

// readLine reads one line of a transcript.
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
			l.at, _ = time.Parse(time.RFC3339, s.text()) // the zero time, if it can't be told
		case "isSidechain":
			l.sidechain = s.isTrue()
		case "isMeta":
			l.meta = s.isTrue()
		case "isCompactSummary":
			l.gist = s.isTrue()
		case "isApiErrorMessage":
			l.failed = s.isTrue()
		case "operation":
			l.operation = s.text()
		case "content":
			l.content = s.raw()
		case "subtype":
			l.subtype = s.text()
		case "compactMetadata":
			s.object(func(key string) {
				if key == "postTokens" {
					l.left = s.number()
				}
			})
		case "message":
			l.message = readMessage(s)
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
			m.texts, m.edited, m.failed = c.texts, c.edited, c.failed
		case "usage":
			s.object(func(key string) {
				switch key {
				case "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens":
					m.used += s.number()
				}
			})
		}
	})
	return m
}

// readContent reads a string, or a list of blocks.
func readContent(s *skim) (m message) {
	if s.d.PeekKind() == '"' {
		m.texts = [][]byte{s.raw()}
		return m
	}
	s.array(func() { m.readBlock(s) })
	return m
}

func (m *message) readBlock(s *skim) {
	var text []byte // text blocks alone have it
	var id, tool, path, notebook, answered string
	var failed bool
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
	if failed && answered != "" {
		m.failed = append(m.failed, answered)
	}
}
