// Package transcript reads the transcript of a session: the last messages, the files that the agent edited, and the tokens
// in its context. A transcript is a file to which the runtime appends, so the package reads it from its end, and no further
// than needed. It changes nothing and keeps nothing. It does not read lines that are appended after it opened the file.
package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

// The limits of reading. All sizes are bytes.
const (
	chunkSize   = 256 << 10 // the bytes that are read at once
	maxLine     = 4 << 20   // the longest line that is read
	maxTexts    = 16 << 20  // all texts of messages together, whatever Want.MaxBytes is
	maxPaths    = 10_000    // number of edited files
	maxPathSize = 4096      // the longest path of an edited file
	lookBack    = 8 << 20   // how much of the end Use and Count read
	maxFar      = 256 << 20 // how much of the end Read reads if Want.Far is 0
)

// Want says which parts of a transcript Read returns.
type Want struct {
	Messages int    // the number of messages, the newest ones
	MaxBytes int64  // the limit of the messages' texts in bytes, the newest ones; 0 or more than 16 MB: 16 MB
	All      bool   // as many messages as MaxBytes allows; Messages is then ignored
	Edited   bool   // also the edited files, those edited after Until included; Read then reads as far as Far allows
	Todos    bool   // also the open todos, as they are after Until; Read then reads as far as the last whole list, or as Far allows
	Choices  bool   // also the model and the mode; Read then reads as far as Far allows
	Far      int64  // how many bytes of the file's end Read reads at most; 0: 256 MB
	Until    string // leave out the newest message that contains this text, and later messages, except prompts that the model was not given; "": leave out none
}

// Found is the result of Read.
type Found struct {
	Messages []data.Message // the oldest first; Agent is left empty
	Edited   []string       // paths as the transcript has them, sorted, each once
	Todos    []data.Todo    // those that are not completed, in the session's own order
	Choices  Choices
	Effort   string   // the thinking level of the newest answer; "": not known
	Used     int64    // tokens in the context at the newest answer; 0: not known
	Count    int      // messages in the part that was read; if Count is more than len(Messages), there are older ones
	Warnings []string // sentences for the operator
}

// Read reads the parts of a transcript that want names. It fails if the file cannot be read or ctx ends. For lines that
// cannot be read, it only adds a warning.
func Read(ctx context.Context, rt *runtimes.Runtime, path string, want Want) (Found, error) {
	t, err := open(rt, path)
	if err != nil {
		return Found{}, err
	}
	defer t.Close()
	if want.Far <= 0 {
		want.Far = maxFar
	}
	t.lines.floor = max(0, t.lines.off-want.Far)
	c := newConversation(want)
	for !c.done() {
		e, err := t.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Found{}, fmt.Errorf("transcript %s: %w", path, err)
		}
		c.add(e)
	}
	c.short = t.lines.floor > 0 && t.lines.off == t.lines.floor
	return c.result(t.bad, t.lines.long), nil
}

// Use returns how many tokens are in the context, from the newest entry for which tellsUse is true, and the size of the
// window; 0: the entry does not say. It reads the last 8 MB. ok is false if there is no such entry, or if that entry says
// that the number is not known after a compaction.
func Use(rt *runtimes.Runtime, path string) (used, window int64, ok bool, err error) {
	e, err := newest(rt, path, tellsUse)
	return e.Used, e.Window, e.Used > 0, err
}

// newest returns the newest entry in the last 8 MB of a transcript for which is returns true; the zero Entry: there is none.
func newest(rt *runtimes.Runtime, path string, is func(runtimes.Entry) bool) (runtimes.Entry, error) {
	t, err := open(rt, path)
	if err != nil {
		return runtimes.Entry{}, err
	}
	defer t.Close()
	t.lines.floor = max(0, t.lines.off-lookBack)
	for {
		e, err := t.next(context.Background())
		if errors.Is(err, io.EOF) {
			return runtimes.Entry{}, nil
		}
		if err != nil {
			return runtimes.Entry{}, fmt.Errorf("transcript %s: %w", path, err)
		}
		if is(e) {
			return e, nil
		}
	}
}

// tellsUse reports whether an entry says how many tokens are in the context, or that this is no longer known.
func tellsUse(e runtimes.Entry) bool { return !e.Sidechain && (e.Used > 0 || e.Compacted) }

// Count counts the prompts and answers in the last 8 MB of a transcript, up to enough. The daemon uses it to find out
// whether there is anything to hand over. So Count also counts two kinds that Read leaves out: prompts of the daemon, and
// answers that have only tool calls.
func Count(rt *runtimes.Runtime, path string, enough int) (n int, err error) {
	prompts, answers := 0, map[string]bool{}
	_, err = newest(rt, path, func(e runtimes.Entry) bool {
		switch {
		case e.Sidechain:
		case e.MessageID != "" && (e.Used > 0 || e.Role != ""):
			answers[e.MessageID] = true
		case e.Role != "" || e.Ours:
			prompts++
		}
		n = prompts + len(answers)
		return n >= enough
	})
	return min(n, enough), err
}

// conversation collects the parts that want names. Read gives it the entries of a transcript, the newest first.
type conversation struct {
	want     Want
	read     Found           // the result so far, without Messages
	messages []blocks        // the newest first
	bytes    int64           // the length of the texts in messages
	id       string          // the id of the message to which the last entry belongs; "": that message has no id
	dropped  bool            // the other entries of the message id are left out
	full     bool            // no more messages are taken
	cut      bool            // messages were left out or cut because of MaxBytes
	until    bool            // Until was found, or there is no need to look for it
	used     bool            // read.Used is final: an entry gave the number, or said that it is not known
	edited   map[string]bool // by path
	failed   map[string]bool // by id of the tool call
	todos    todoList
	choices  choiceList
	more     bool // there are more edited files than maxPaths
	short    bool // Far kept Read from reading the whole transcript
}

// blocks is a message. The runtime writes each block of a message as a line of its own.
type blocks struct {
	role   string
	unread bool      // a prompt that the model has not been given
	at     time.Time // the time of the message's first block
	texts  []string  // the newest first
}

func newConversation(want Want) *conversation {
	if want.MaxBytes <= 0 || want.MaxBytes > maxTexts {
		want.MaxBytes = maxTexts
	}
	c := &conversation{want: want, edited: map[string]bool{}, failed: map[string]bool{}}
	c.full = c.none()
	c.until = c.full || want.Until == ""
	return c
}

// none reports whether no messages are wanted.
func (c *conversation) none() bool { return c.want.Messages <= 0 && !c.want.All }

func (c *conversation) done() bool {
	return c.full && c.until && c.used && !c.want.Edited && !c.want.Choices && (!c.want.Todos || c.todos.known)
}

func (c *conversation) add(e runtimes.Entry) {
	c.addFailed(e)
	if c.want.Edited {
		c.addEdited(e)
	}
	if c.want.Todos {
		c.todos.add(e.Todos, c.failed)
	}
	if c.want.Choices {
		c.choices.add(e)
	}
	if c.read.Effort == "" {
		c.read.Effort = e.Effort
	}
	if !c.used && tellsUse(e) {
		c.used, c.read.Used = true, e.Used
	}
	if c.want.Until != "" && !e.Sidechain && strings.Contains(e.Text, c.want.Until) {
		c.keepUnread()
		c.cut, c.until = false, true
		c.id, c.dropped = e.MessageID, true
		return
	}
	if e.Role == "" {
		return
	}
	if begins := e.MessageID == "" || e.MessageID != c.id; begins {
		c.id, c.dropped = e.MessageID, false
		c.read.Count++
		c.full = c.full || !c.want.All && len(c.messages) == c.want.Messages
		if !c.full {
			c.messages = append(c.messages, blocks{role: e.Role, unread: e.Unread})
		}
	}
	if !c.full && !c.dropped {
		c.addBlock(e)
	}
}

// keepUnread drops the messages so far, except the prompts that the model was not given: nobody has worked on them.
func (c *conversation) keepUnread() {
	c.messages = slices.DeleteFunc(c.messages, func(m blocks) bool { return !m.unread })
	c.bytes = 0
	for _, m := range c.messages {
		c.bytes += int64(len(strings.Join(m.texts, "\n")))
	}
	c.read.Count = len(c.messages)
	c.full = c.none() || !c.want.All && len(c.messages) == c.want.Messages
}

// addBlock puts the text of e before the other texts of its message. When a text does not fit into MaxBytes, addBlock takes
// no more messages. It keeps the end of that text if the message is the newest one, or if later blocks of the message are
// kept. Otherwise it leaves the message out.
func (c *conversation) addBlock(e runtimes.Entry) {
	m := &c.messages[len(c.messages)-1]
	text := e.Text
	newline := int64(min(1, len(m.texts))) // between two blocks
	if room := c.want.MaxBytes - c.bytes - newline; int64(len(text)) > room {
		c.full, c.cut = true, true
		text = ending(text, room)
		if len(m.texts) == 0 && len(c.messages) > 1 {
			text = ""
		}
	}
	if text != "" {
		m.at, m.texts = e.At, append(m.texts, text)
		c.bytes += int64(len(text)) + newline
	}
	if len(m.texts) == 0 {
		c.messages = c.messages[:len(c.messages)-1]
	}
}

// ending returns an ellipsis and the end of a text, in at most n bytes. It returns "" if there is no room for both.
func ending(text string, n int64) string {
	const mark = "…"
	if n <= int64(len(mark)) {
		return ""
	}
	text = text[int64(len(text))-n+int64(len(mark)):]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return mark + text
}

// addFailed notes the calls that failed. The entries come newest first, so a failure is known before its call.
func (c *conversation) addFailed(e runtimes.Entry) {
	for _, call := range e.Failed {
		if len(c.failed) < maxPaths {
			c.failed[call] = true
		}
	}
}

// addEdited stores the paths of the files that e edited, unless the call failed.
func (c *conversation) addEdited(e runtimes.Entry) {
	for _, edit := range e.Edited {
		if c.failed[edit.Call] || len(edit.Path) > maxPathSize || c.edited[edit.Path] {
			continue
		}
		if len(c.edited) == maxPaths {
			c.more = true
			return
		}
		c.edited[edit.Path] = true
	}
}

// result returns the collected parts. bad is the number of lines that could not be read, long the number of lines that were
// too long.
func (c *conversation) result(bad, long int) Found {
	for _, m := range slices.Backward(c.messages) {
		slices.Reverse(m.texts)
		c.read.Messages = append(c.read.Messages, data.Message{Role: m.role, At: m.at, Text: strings.Join(m.texts, "\n")})
	}
	c.read.Edited = slices.Sorted(maps.Keys(c.edited))
	warn := func(is bool, format string, args ...any) {
		if is {
			c.read.Warnings = append(c.read.Warnings, fmt.Sprintf(format, args...))
		}
	}
	warn(bad == 1, "1 line of the transcript could not be read and was left out.")
	warn(bad > 1, "%d lines of the transcript could not be read and were left out.", bad)
	warn(long == 1, "1 line of the transcript is longer than %d MB and was left out.", maxLine>>20)
	warn(long > 1, "%d lines of the transcript are longer than %d MB and were left out.", long, maxLine>>20)
	warn(c.short, "Of the transcript only the newest %d bytes were read.", c.want.Far)
	warn(c.cut, "The messages of the transcript were cut to the newest %d bytes.", c.want.MaxBytes)
	if c.want.Choices {
		c.read.Choices = c.choices.choices(!c.short)
	}
	var open int
	c.read.Todos, open = c.todos.open()
	warn(open > maxTodos, "%d todos of the session are open, more than are passed on: the last %d are left out.", open, open-maxTodos)
	warn(c.more, "Of the files that the transcript names as edited, only the newest %d were kept.", maxPaths)
	return c.read
}
