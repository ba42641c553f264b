package runtimes

import (
	"bytes"
	"iter"
	"strings"
	"time"

	"github.com/understudyd/understudy/hooks"
)

// Line has the fields of one line of a transcript that this package needs.
type Line struct {
	Kind       string // user, assistant, attachment and many more
	At         time.Time
	Sidechain  bool
	Meta       bool // the CLI wrote the line by itself
	Summary    bool // the line is the summary of the conversation that a compaction wrote
	Failed     bool // the line looks like an answer, but reports an error of the API
	Message    Message
	Todos      []TodoChange // what the result of a call says about the list of todos
	Effort     string       // the thinking level of an answer; "": the line does not tell
	Chosen     string       // the model that is chosen from this line on, as Spec.Model takes it; "": the line does not tell
	Mode       string       // the permission mode from this line on, as Spec.Mode takes it; "": the line does not tell
	Unread     bool         // the line is a prompt that the model has not been given
	Attached   string       // kind of an attachment
	Prompt     [][]byte     // texts of an attachment, as JSON strings
	Subtype    string       // kind of a system line
	PostTokens int64        // tokens in the context after a compaction
	Compacted  bool         // the runtime compacted the context here, and the line is the summary
	Request    string       // the API's id of the request of an answer; "": the line does not tell
	Operation  string       // what was done to the queue of prompts
	Content    []byte       // the prompt that was queued or taken out, as JSON
	Place      Place
}

// Message is the message of a line. An answer of the model takes one line for each of its blocks; all of
// them have the same id.
type Message struct {
	Role, ID, Model string
	Texts           [][]byte // as JSON strings
	Edited          []Edit
	Called          []Call   // tool calls that name a file or a command
	Done            []string // ids of tool calls that succeeded
	Failed          []string // ids of tool calls that failed or were refused
	Todos           []TodoChange
	Used            int64 // tokens in the context
	Window          int64 // size of the context window; 0: the line does not tell
	Spent           Usage // what the answer has used; its Key and At are not those of [Runtime.Usage]
}

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

// TranscriptHasPrompt reports whether a prompt equal to the text was submitted at a time that counts; nil: each
// does. It ignores the composer's changes, as [MatchesPrompt] does. Use it for a text without a nonce: to find
// such a text somewhere in the transcript proves nothing, because a short text may be part of many other prompts,
// and may have been submitted before. Only behind a refusal of the text by a hook a person may have typed more
// behind it, because the CLI puts it back into the composer.
func (rt *Runtime) TranscriptHasPrompt(jsonl []byte, text string, counts func(at time.Time) bool) bool {
	want := Unwrapped(text)
	return want != "" && (rt.anyUserText(jsonl, func(got string, at time.Time) bool {
		return Unwrapped(got) == want && (counts == nil || counts(at))
	}) || rt.hasReturned(jsonl, want, counts))
}

// TranscriptHolds reports whether any prompt contains the text, as [MatchesPrompt] does. If none does, the agent has never got the text.
func (rt *Runtime) TranscriptHolds(jsonl []byte, text string) bool {
	return rt.anyUserText(jsonl, func(got string, _ time.Time) bool { return MatchesPrompt(got, text) })
}

// hasReturned reports whether a prompt with the text was refused, and at a time that counts a prompt was submitted that begins with it.
func (rt *Runtime) hasReturned(jsonl []byte, text string, counts func(at time.Time) bool) bool {
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
			return (counts == nil || counts(at)) && strings.HasPrefix(Unwrapped(got), Unwrapped(p.Prompt))
		}) {
			return true
		}
	}
	return false
}

// lines goes through the lines of a transcript, but for those that cannot be read and those of sub-agents.
func (rt *Runtime) lines(jsonl []byte) iter.Seq[*Line] {
	return func(yield func(*Line) bool) {
		for raw := range bytes.Lines(jsonl) {
			if line, err := rt.ReadLine(raw); err == nil && !line.Sidechain && !yield(&line) {
				return
			}
		}
	}
}

// anyUserText reports whether wanted returns true for one of the user's texts.
func (rt *Runtime) anyUserText(jsonl []byte, wanted func(text string, at time.Time) bool) bool {
	for line := range rt.lines(jsonl) {
		if line.Unread {
			continue
		}
		for _, text := range line.userTexts() {
			if wanted(Unquote(text), line.At) {
				return true
			}
		}
	}
	return false
}

// userTexts returns the texts of a line that reached the model as texts of the user: a prompt, the answer of
// a hook, or a text that was typed while a tool ran.
func (l *Line) userTexts() [][]byte {
	switch {
	case l.Kind == "user" && l.Message.Role == "user":
		return l.Message.Texts
	case l.Kind == "attachment" && l.Attached == "queued_command":
		return l.Prompt
	}
	return nil
}
