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

// Synthetic is the name of the model in a line that the CLI wrote in place of the model: to report an error
// of the API, or to say that no answer was asked for.
const Synthetic = "<synthetic>"

// ParseEntry reads one line of a transcript. These lines are not messages: tool calls and their
// results, thinking, CLI commands and their output, notifications, answers of hooks, errors of the API,
// and texts that this supervisor typed. The summary that a compaction writes counts as a message of the
// user, because for the model it replaces the whole earlier conversation.
//
// ParseEntry fails if the line is not one complete JSON object.
func (rt *Runtime) ParseEntry(line []byte) (Entry, error) {
	l, err := rt.ReadLine(line)
	if err != nil {
		return Entry{}, fmt.Errorf("line of a transcript: %w", err)
	}
	e := Entry{At: l.At, Sidechain: l.Sidechain, Place: l.Place}
	if !l.Sidechain { // a sub-agent has a list, a level and a model of its own
		e.Todos, e.Effort, e.Model = slices.Concat(l.Message.Todos, l.Todos), l.Effort, l.Chosen
		if l.Kind != "permission-mode" { // Claude Code repeats such a line without a change
			e.Mode = l.Mode
		}
		if rt.Switched != nil {
			rt.readSwitch(&l, &e)
		}
	}
	if l.Kind == "assistant" && l.Message.Role == "assistant" {
		e.MessageID, e.Used, e.Window = l.Message.ID, l.Message.Used, l.Message.Window
		e.Edited = l.Message.Edited
		if l.Failed || l.Message.Model == Synthetic {
			return e, nil
		}
		e.Text = Joined(l.Message.Texts, strings.TrimSpace)
		e.Role = roleOf(l, "assistant", e.Text)
		return e, nil
	}
	if l.Kind == "system" && l.Subtype == "compact_boundary" {
		e.Compacted, e.Used = true, l.PostTokens
		return e, nil
	}
	if l.Kind == "user" {
		e.Failed = l.Message.Failed
	}
	if l.Compacted {
		e.Compacted, e.Used = true, l.PostTokens
	}
	texts := l.userTexts()
	if e.Text = Joined(texts, rt.Clean); e.Text == "" || l.Meta {
		e.Text = Joined(texts, strings.TrimSpace)
		e.Ours = !l.Meta && IsOurs(e.Text)
		return e, nil
	}
	if e.Role, e.Unread = roleOf(l, "user", e.Text), l.Unread; l.Unread {
		e.Text += "\n" + NoteUnread
	}
	return e, nil
}

// NoteUnread tells a successor that a prompt is left to it.
const NoteUnread = "(This agent has not begun with this prompt.)"

// readSwitch reads what a line says about the model in a runtime of which only the answers name the model.
func (rt *Runtime) readSwitch(l *Line, e *Entry) {
	switch {
	case l.Kind == "assistant" && !l.Failed && l.Message.Model != Synthetic:
		e.Answered = l.Message.Model
	case l.Kind == "user" && len(l.Message.Texts) > 0:
		e.Suffix, e.Switched = rt.Switched(Unquote(l.Message.Texts[0]))
	}
}

func roleOf(l Line, role, text string) string {
	if l.Sidechain || text == "" {
		return ""
	}
	return role
}

// Joined applies clean to each text and joins the results that are not empty with newlines. It removes
// NUL characters, because PostgreSQL does not store them.
func Joined(texts [][]byte, clean func(string) string) string {
	var all []string
	for _, raw := range texts {
		if text := clean(strings.ReplaceAll(Unquote(raw), "\x00", "")); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// ours matches the start of a text that this supervisor typed, or gave as the answer to a Stop hook.
var ours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[(handoff|skill)_[^\]\s]+\] understudy:`) })

// IsOurs reports whether a prompt is an instruction, a skill or a prompt of this supervisor.
func IsOurs(prompt string) bool { return ours().MatchString(strings.TrimSpace(prompt)) }

// WithoutOurs returns what a user has written of a text: nothing of a text that this supervisor gave the agent.
func WithoutOurs(text string) string {
	if text = strings.TrimSpace(text); ours().MatchString(text) {
		return ""
	}
	return text
}
