package runtimes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Entry has the parts of one line of a transcript that the daemon needs.
type Entry struct {
	Role string // user or assistant; "" if the line is not a message of the conversation
	// Text is the message without the CLI's additions. If a user's line is not a message, Text is the
	// whole text of the line, so that the daemon can find its own instruction in it.
	Text      string
	At        time.Time
	Edited    []Edit       // calls of the tools that change files
	Failed    []string     // ids of calls that failed or were refused; the line with the call came before
	Used      int64        // tokens in the context, at this answer or after this compaction; 0 if the line has no number
	Window    int64        // size of the context window in tokens; 0 if the line does not tell
	Compacted bool         // the CLI compacted the context here, so an earlier Used no longer holds
	Sidechain bool         // the line is a sub-agent's; never a message
	Ours      bool         // this supervisor typed the text; never a message
	Unread    bool         // a prompt that the model has not been given
	MessageID string       // id of an answer; lines with the same id are one message
	Todos     []TodoChange // changes of the session's list of todos, the oldest first
	Effort    string       // the thinking level with which the model answered; "": the line does not tell
	Model     string       // the model that is chosen from this line on, as Spec.Model takes it; "": the line does not tell
	Mode      string       // the permission mode from this line on, as Spec.Mode takes it; "": the line does not tell
	// Switched says that a person has changed the model, in a runtime of which only the answers name the model: see Answered.
	Switched bool
	Suffix   string // with Switched: what belongs behind the model's name
	Answered string // the model that answered, in such a runtime; "": the line does not tell
	Place    Place
}

// Edit is one call of a tool that changes a file.
type Edit struct {
	Path string // as the model wrote it
	Call string // the call's id
}

// synthetic is the name of the model in a line that the CLI wrote in place of the model: to report an error
// of the API, or to say that no answer was asked for.
const synthetic = "<synthetic>"

// ParseEntry reads one line of a transcript. These lines are not messages: tool calls and their
// results, thinking, CLI commands and their output, notifications, answers of hooks, errors of the API,
// and texts that this supervisor typed. The summary that a compaction writes counts as a message of the
// user, because for the model it replaces the whole earlier conversation.
//
// ParseEntry fails if the line is not one complete JSON object.
func (rt *Runtime) ParseEntry(line []byte) (Entry, error) {
	l, err := rt.line(line)
	if err != nil {
		return Entry{}, fmt.Errorf("line of a transcript: %w", err)
	}
	e := Entry{At: l.at, Sidechain: l.sidechain, Place: l.place()}
	if !l.sidechain { // a sub-agent has a list, a level and a model of its own
		e.Todos, e.Effort, e.Model = slices.Concat(l.message.todos, l.todos), l.effort, l.chosen
		if l.kind != "permission-mode" { // Claude Code repeats such a line without a change
			e.Mode = l.mode
		}
		if rt.switched != nil {
			rt.readSwitch(&l, &e)
		}
	}
	if l.kind == "assistant" && l.message.role == "assistant" {
		e.MessageID, e.Used, e.Window = l.message.id, l.message.used, l.message.window
		e.Edited = l.message.edited
		if l.failed || l.message.model == synthetic {
			return e, nil
		}
		e.Text = joined(l.message.texts, strings.TrimSpace)
		e.Role = roleOf(l, "assistant", e.Text)
		return e, nil
	}
	if l.kind == "system" && l.subtype == "compact_boundary" {
		e.Compacted, e.Used = true, l.postTokens
		return e, nil
	}
	if l.kind == "user" {
		e.Failed = l.message.failed
	}
	if l.compacted {
		e.Compacted, e.Used = true, l.postTokens
	}
	texts := l.userTexts()
	if e.Text = joined(texts, rt.clean); e.Text == "" || l.meta {
		e.Text = joined(texts, strings.TrimSpace)
		e.Ours = !l.meta && ours().MatchString(e.Text)
		return e, nil
	}
	if e.Role, e.Unread = roleOf(l, "user", e.Text), l.unread; l.unread {
		e.Text += "\n" + noteUnread
	}
	return e, nil
}

// noteUnread tells a successor that a prompt is left to it.
const noteUnread = "(This agent has not begun with this prompt.)"

// readSwitch reads what a line says about the model in a runtime of which only the answers name the model.
func (rt *Runtime) readSwitch(l *transcriptLine, e *Entry) {
	switch {
	case l.kind == "assistant" && !l.failed && l.message.model != synthetic:
		e.Answered = l.message.model
	case l.kind == "user" && len(l.message.texts) > 0:
		e.Suffix, e.Switched = rt.switched(unquote(l.message.texts[0]))
	}
}

func roleOf(l transcriptLine, role, text string) string {
	if l.sidechain || text == "" {
		return ""
	}
	return role
}

// joined applies clean to each text and joins the results that are not empty with newlines. It removes
// NUL characters, because PostgreSQL does not store them.
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
	// reminder matches a note to the model that the CLI puts into a user's text.
	reminder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`) })
	// ours matches the start of a text that this supervisor typed, or gave as the answer to a Stop hook.
	ours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[(handoff|skill)_[^\]\s]+\] understudy:`) })
)

// IsOurs reports whether a prompt is an instruction, a skill or a prompt of this supervisor.
func IsOurs(prompt string) bool { return ours().MatchString(strings.TrimSpace(prompt)) }

// marks are the tags around a text that the CLI writes in the user's name: a command and its output, a
// shell command that a person ran, the end of a task.
var marks = []string{"command-name", "command-message", "command-args", "command-contents", "local-command-stdout",
	"local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr", "task-notification"}

// notices are the beginnings of the texts that the CLI writes in the user's name without marks.
var notices = []string{"[Request interrupted by user", "Stop hook feedback:"}

// withoutMarks returns the part of the text that the user wrote, or "" if the user wrote no part of it.
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
