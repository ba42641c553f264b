package runtimes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Entry is what one line of a transcript says.
type Entry struct {
	Role string // user or assistant; "": the line is no message of the conversation
	// Text is a message without what the CLI added to it. Of a user's line that is no message it is
	// all that stands there, so that an instruction of our own can be found.
	Text      string
	At        time.Time
	Edited    []Edit   // calls of the tools that change files
	Failed    []string // calls that failed or were refused; they stand after the line with the call
	Used      int64    // tokens in the context, at this answer or after this compaction; 0: the line doesn't tell
	Compacted bool     // here the context was compacted: what Used said before no longer holds
	Sidechain bool     // of a sub-agent; never a message
	Ours      bool     // typed by this supervisor; never a message
	MessageID string   // of an answer; lines with the same one are one message
}

// Edit is the call of a tool that changes a file.
type Edit struct {
	Path string // as the model wrote it
	Call string // the call's id
}

// synthetic is the model of what the CLI itself says in the model's place: errors of the API, and
// that no answer was asked for.
const synthetic = "<synthetic>"

// ParseEntry reads one line of a Claude Code transcript. Whatever the CLI put in beside the
// conversation is no message: calls of tools and their results, thinking, commands of the CLI and
// what they printed, notifications, answers of hooks, errors of the API, and what this supervisor
// typed. The gist that a compaction leaves is one, a user's: for the model it stands for all that
// was said before.
//
// It fails when the line is not one complete JSON object.
func ParseEntry(line []byte) (Entry, error) {
	l, err := readLine(line)
	if err != nil {
		return Entry{}, fmt.Errorf("line of a transcript: %w", err)
	}
	e := Entry{At: l.at, Sidechain: l.sidechain}
	if l.kind == "assistant" && l.message.role == "assistant" {
		e.MessageID, e.Used = l.message.id, l.message.used
		e.Edited = l.message.edited
		if l.failed || l.message.model == synthetic {
			return e, nil
		}
		e.Text = joined(l.message.texts, strings.TrimSpace)
		e.Role = roleOf(l, "assistant", e.Text)
		return e, nil
	}
	if l.kind == "system" && l.subtype == "compact_boundary" {
		e.Compacted, e.Used = true, l.left
		return e, nil
	}
	if l.kind == "user" {
		e.Failed = l.message.failed
	}
	texts := l.userTexts()
	if e.Text = joined(texts, withoutMarks); e.Text == "" || l.meta {
		e.Text = joined(texts, strings.TrimSpace)
		e.Ours = !l.meta && ours().MatchString(e.Text)
		return e, nil
	}
	e.Role = roleOf(l, "user", e.Text)
	return e, nil
}

func roleOf(l transcriptLine, role, text string) string {
	if l.sidechain || text == "" {
		return ""
	}
	return role
}

// joined returns the texts in lines of their own, each as clean leaves it; an empty one is left
// out. A NUL, which PostgreSQL does not store, is taken out.
func joined(texts [][]byte, clean func(string) string) string {
	var all []string
	for _, raw := range texts {
		if text := clean(strings.ReplaceAll(unquote(raw), "\x00", "")); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

var (
	// reminder is what the CLI tells the model within a user's text.
	reminder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`) })
	// ours is how a text begins that this supervisor typed, or gave as the answer to a Stop.
	ours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[(handoff|skill)_[^\]\s]+\] understudy:`) })
)

// marks enclose what the CLI writes in the user's name: a command and what it printed, a shell
// command that a person ran, the end of a task.
var marks = []string{"command-name", "command-message", "command-args", "command-contents", "local-command-stdout",
	"local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr", "task-notification"}

// notices are how the texts begin that the CLI writes in the user's name without marks.
var notices = []string{"[Request interrupted by user", "Stop hook feedback:"}

// withoutMarks returns what a user said; "" if nothing of the text is the user's.
func withoutMarks(text string) string {
	if strings.Contains(text, "<system-reminder>") {
		text = reminder().ReplaceAllString(text, "")
	}
	if strings.Contains(text, "pasted_content") {
		text = wrapper().ReplaceAllString(text, "")
	}
	text = withoutLeadingMarks(strings.TrimSpace(text))
	if slices.ContainsFunc(notices, func(n string) bool { return strings.HasPrefix(text, n) }) || ours().MatchString(text) {
		return ""
	}
	return text
}

// withoutLeadingMarks takes the enclosed parts off the beginning; one that is not closed goes to
// the end.
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
