// Package transcript reads what a runtime keeps of a session, from the end of its file and no further than is asked for:
// the last messages, the files that the agent edited, the tokens in its context. It changes nothing and keeps nothing; a
// file that grows meanwhile is read as it was when it was opened.
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

// What reading a transcript may take, whoever asks for how much. All sizes are bytes.
const (
	transcriptChunk = 256 << 10 // read at once
	transcriptLine  = 4 << 20   // the longest line that is read
	transcriptTexts = 16 << 20  // of messages
	transcriptPaths = 10_000    // number of edited files
	transcriptPath  = 4096      // the longest path of one
	transcriptBack  = 8 << 20   // how far transcriptUse and transcriptCount look back
	transcriptFar   = 256 << 20 // how far anybody does
)

// Want says what is wanted of a transcript.
type Want struct {
	Messages int    // at most so many, the newest
	MaxBytes int64  // of their texts, the newest are kept; 0: 16 MB, which is also the most
	All      bool   // as many messages as MaxBytes allows, whatever Messages says
	Edited   bool   // the files that were edited, also after Until; reads all that Far allows
	Far      int64  // the newest bytes that are read; 0: 256 MB
	Until    string // the message that contains it and all after it are left out
}

// Found is what a transcript held.
type Found struct {
	Messages []data.Message // oldest first, Agent left empty
	Edited   []string       // sorted, without duplicates, as written
	Used     int64          // tokens in the context at the newest answer; 0: unknown
	Count    int            // messages seen, as far as it was read; more than Messages: there are older ones
	Warnings []string       // sentences for the operator
}

// Read reads what is wanted of a transcript, from its end and no further than needed. It
// fails when the file cannot be read or ctx ends; lines that cannot be read are a warning. What is
// appended meanwhile is not read.
func Read(ctx context.Context, path string, want Want) (Found, error) {
	t, err := open(path)
	if err != nil {
		return Found{}, err
	}
	defer t.Close()
	if want.Far <= 0 {
		want.Far = transcriptFar
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

// Use returns how many tokens are in the context, by the newest of the last 8 MB that
// tells. ok is false when nothing does.
func Use(path string) (used int64, ok bool, err error) {
	t, err := open(path)
	if err != nil {
		return 0, false, err
	}
	defer t.Close()
	t.lines.floor = max(0, t.lines.off-transcriptBack)
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

// tellsUse reports whether the entry says how full the context is, or that it is no longer known.
func tellsUse(e runtimes.Entry) bool { return !e.Sidechain && (e.Used > 0 || e.Compacted) }

// Count counts what was said in a session until there is enough of it: prompts, our own
// among them, and answers, also those of tool calls alone. It says whether there is anything to hand
// over, which is more than what is passed on as messages.
func Count(path string, enough int) (n int, err error) {
	t, err := open(path)
	if err != nil {
		return 0, err
	}
	defer t.Close()
	t.lines.floor = max(0, t.lines.off-transcriptBack)
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

// transcript is the file of one, read from its end.
type file struct {
	*os.File
	lines *backward
	bad   int // lines that could not be read
}

// openTranscript opens a regular file. Anything else is refused without waiting: a path comes from
// a hook, and a pipe that nobody writes to would hold the lane for ever.
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
	return &file{File: f, lines: &backward{r: f, off: fi.Size(), chunk: transcriptChunk, max: transcriptLine}}, nil
}

// next returns the entry before the last one; io.EOF when there is none.
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

// conversation puts the messages together. Its entries come newest first.
type conversation struct {
	want     Want
	read     Found    // without Messages
	messages []blocks // newest first
	bytes    int64    // of their texts
	id       string   // of the newest message that was begun, "" if it has none
	dropped  bool     // that message is left out
	full     bool     // no more messages
	cut      bool     // because of MaxBytes
	until    bool     // Until was found, or need not be
	used     bool     // Used was found, or that it is unknown
	edited   map[string]bool
	failed   map[string]bool // calls
	more     bool            // edited files than are kept
	short    bool            // there is more of the transcript than was read
}

// blocks is a message whose blocks were written as several lines.
type blocks struct {
	role  string
	at    time.Time
	texts []string // newest first
}

func newConversation(want Want) *conversation {
	if want.MaxBytes <= 0 || want.MaxBytes > transcriptTexts {
		want.MaxBytes = transcriptTexts
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

// addBlock puts a text before the others of its message. The first text that does not fit into
// MaxBytes ends the messages. Its message is left out, unless it is the newest or its later blocks
// are kept: then the end of the text is kept as well.
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

// ending returns at most n bytes of the end of text, and says so; "" if there is no room for that.
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

// addEdited notes the paths of files that were edited. That a call failed is known before the call.
func (c *conversation) addEdited(e runtimes.Entry) {
	for _, call := range e.Failed {
		if len(c.failed) < transcriptPaths {
			c.failed[call] = true
		}
	}
	for _, edit := range e.Edited {
		if c.failed[edit.Call] || len(edit.Path) > transcriptPath || c.edited[edit.Path] {
			continue
		}
		if len(c.edited) == transcriptPaths {
			c.more = true
			return
		}
		c.edited[edit.Path] = true
	}
}

// result is what was read; bad and long are numbers of lines that were not.
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
	warn(long == 1, "1 line of the transcript is longer than %d MB and was left out.", transcriptLine>>20)
	warn(long > 1, "%d lines of the transcript are longer than %d MB and were left out.", long, transcriptLine>>20)
	warn(c.short, "Of the transcript only the newest %d bytes were read.", c.want.Far)
	warn(c.cut, "The messages of the transcript were cut to the newest %d bytes.", c.want.MaxBytes)
	warn(c.more, "Of the files that the transcript names as edited, only the newest %d were kept.", transcriptPaths)
	return c.read
}
