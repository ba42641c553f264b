// Package transcript reads the transcript of a session, a file to which the runtime appends, from its end and no further than
// needed: the last messages, the files that the agent edited, the tokens in its context. It changes nothing and keeps
// nothing. What is appended after a file was opened is not read.
package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

// The limits of reading, whatever is asked for. All sizes are bytes.
const (
	chunkSize   = 256 << 10 // read at once
	maxLine     = 4 << 20   // the longest line that is read
	maxTexts    = 16 << 20  // all texts of messages
	maxPaths    = 10_000    // number of edited files
	maxPathSize = 4096      // the longest path of an edited file
	lookBack    = 8 << 20   // how much of the end Use and Count read
	maxFar      = 256 << 20 // how much of the end Read reads if Far is 0
)

// Want says what Read is to find.
type Want struct {
	Messages int    // at most so many messages, the newest
	MaxBytes int64  // at most so many bytes of their texts, the newest; 0, and at most: 16 MB
	All      bool   // as many messages as MaxBytes allows, whatever Messages says
	Edited   bool   // the files that were edited, also after Until; Read then reads all that Far allows
	Far      int64  // how many bytes of the end are read at most; 0: 256 MB
	Until    string // the newest message that contains it, and all after that, are left out; "": none is
}

// Found is what Read has found.
type Found struct {
	Messages []data.Message // the oldest first; Agent is left empty
	Edited   []string       // paths as the transcript has them, sorted, each once
	Used     int64          // tokens in the context at the newest answer; 0: not known
	Count    int            // messages in the part that was read; if it is more than len(Messages), there are older ones
	Warnings []string       // sentences for the operator
}

// Read finds in a transcript what is wanted. It fails if the file cannot be read or ctx ends; a line that cannot be read is a
// warning.
func Read(ctx context.Context, path string, want Want) (Found, error) {
	t, err := open(path)
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

// Use returns how many tokens are in the context, as the newest entry that tells it says. It reads the last 8 MB. ok is false
// if no entry tells it, and if the context was compacted since.
func Use(path string) (used int64, ok bool, err error) {
	t, err := open(path)
	if err != nil {
		return 0, false, err
	}
	defer t.Close()
	t.lines.floor = max(0, t.lines.off-lookBack)
	for {
		e, err := t.next(context.Background())
		if errors.Is(err, io.EOF) {
			return 0, false, nil
		}
		if err != nil {
			return 0, false, fmt.Errorf("transcript %s: %w", path, err)
		}
		if tellsUse(e) {
			return e.Used, e.Used > 0, nil
		}
	}
}

// tellsUse reports whether an entry says how many tokens are in the context, or that this is no longer known.
func tellsUse(e runtimes.Entry) bool { return !e.Sidechain && (e.Used > 0 || e.Compacted) }

// Count counts the prompts and answers of a session in its last 8 MB, up to enough. It says whether there is anything to hand
// over. So it also counts what Read leaves out: prompts of the daemon, and answers that are tool calls alone.
func Count(path string, enough int) (n int, err error) {
	t, err := open(path)
	if err != nil {
		return 0, err
	}
	defer t.Close()
	t.lines.floor = max(0, t.lines.off-lookBack)
	answers := map[string]bool{}
	for prompts := 0; n < enough; n = prompts + len(answers) {
		e, err := t.next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("transcript %s: %w", path, err)
		}
		switch {
		case e.Sidechain:
		case e.MessageID != "" && (e.Used > 0 || e.Role != ""):
			answers[e.MessageID] = true
		case e.Role != "" || e.Ours:
			prompts++
		}
	}
	return n, nil
}

// file is an open transcript, read from its end.
type file struct {
	*os.File
	lines *backward
	bad   int // lines that could not be read
}

// open opens a transcript. It refuses what is not a regular file, without waiting: the path comes from a hook, and opening a
// pipe would wait for a writer for ever.
func open(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("transcript %s: %w", path, err)
	}
	return &file{File: f, lines: &backward{r: f, off: fi.Size(), chunk: chunkSize, max: maxLine}}, nil
}

// next returns the entry before the one that it returned last; io.EOF: there is none.
func (t *file) next(ctx context.Context) (runtimes.Entry, error) {
	for {
		line, err := t.lines.next(ctx)
		if err != nil {
			return runtimes.Entry{}, err
		}
		if e, err := runtimes.ParseEntry(line); err == nil {
			return e, nil
		}
		t.bad++
	}
}

// conversation collects what is wanted. It is given the entries of a transcript, the newest first.
type conversation struct {
	want     Want
	read     Found           // without Messages
	messages []blocks        // the newest first
	bytes    int64           // of the texts of messages
	id       string          // of the message to which the last entry belongs; "": it has none
	dropped  bool            // the other entries of that message are left out
	full     bool            // no more messages are taken
	cut      bool            // messages were left out or cut because of MaxBytes
	until    bool            // Until was found, or need not be
	used     bool            // an entry has told Used, or that it is not known
	edited   map[string]bool // by path
	failed   map[string]bool // by id of the tool call
	more     bool            // there are more edited files than are kept
	short    bool            // there is more of the transcript than was read
}

// blocks is a message. The runtime writes each block of it as a line.
type blocks struct {
	role  string
	at    time.Time // of its first block
	texts []string  // the newest first
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

func (c *conversation) done() bool { return c.full && c.until && c.used && !c.want.Edited }

func (c *conversation) add(e runtimes.Entry) {
	if c.want.Edited {
		c.addEdited(e)
	}
	if !c.used && tellsUse(e) {
		c.used, c.read.Used = true, e.Used
	}
	if c.want.Until != "" && !e.Sidechain && strings.Contains(e.Text, c.want.Until) {
		c.messages, c.bytes, c.read.Count = nil, 0, 0
		c.full, c.cut, c.until = c.none(), false, true
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
			c.messages = append(c.messages, blocks{role: e.Role})
		}
	}
	if !c.full && !c.dropped {
		c.addBlock(e)
	}
}

// addBlock puts a text before the others of its message. No more messages are taken after the first text that does not fit
// into MaxBytes. The end of that text is kept if its message is the newest, or has later blocks that are kept; otherwise the
// message is left out.
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

// ending returns the end of a text behind an ellipsis, in at most n bytes; "": there is no room for both.
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

// addEdited notes the paths of files that were edited. Entries come newest first, so that the failure of a call is known
// before the call.
func (c *conversation) addEdited(e runtimes.Entry) {
	for _, call := range e.Failed {
		if len(c.failed) < maxPaths {
			c.failed[call] = true
		}
	}
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

// result returns what was found. bad and long are how many lines could not be read, and how many were too long.
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
	warn(c.more, "Of the files that the transcript names as edited, only the newest %d were kept.", maxPaths)
	return c.read
}
