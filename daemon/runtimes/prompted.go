package runtimes

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// Prompted reports whether a transcript shows that its session was given a prompt, be it typed by this supervisor.
func Prompted(jsonl []byte) bool {
	for raw := range bytes.Lines(jsonl) {
		line, err := readLine(raw)
		if err == nil && !line.sidechain && !line.meta && !line.gist && len(line.userTexts()) > 0 {
			return true
		}
	}
	return false
}

// PromptedAfter reports whether a transcript shows work that the session was given after the text with
// the nonce: a prompt of a turn, a prompt that was put into the running turn, or one that is still queued.
// Commands, notifications, answers of hooks and what this supervisor typed are no work.
//
// A prompt that was queued has the time at which it was typed, and stands where the model got it. So its
// place counts, and its time only where the nonce is not found at since or later; not a time after until, if that is
// set, which was shown before the clock was set back. The line by which a prompt leaves the queue has the time of that
// moment, and comes before the prompt itself. Prompts that were queued before from are left out: a session that was
// killed leaves its queue behind.
func PromptedAfter(jsonl []byte, nonce string, since, until, from time.Time) bool {
	since = since.Truncate(time.Millisecond) // a transcript tells no more than that
	var queue []string
	told, given := false, false
	after := func(at time.Time) bool { return told || at.After(since) && (until.IsZero() || !at.After(until)) }
	for raw := range bytes.Lines(jsonl) {
		line, err := readLine(raw)
		if err != nil || line.sidechain || line.gist {
			continue
		}
		if line.kind == "queue-operation" {
			if !line.at.Before(from) {
				var taken string
				queue, taken = line.queued(queue)
				given = given || after(line.at) && withoutMarks(taken) != ""
			}
			continue
		}
		texts := line.userTexts()
		if nonce != "" && !line.at.Before(since) && slices.ContainsFunc(texts, func(raw []byte) bool { return strings.Contains(unquote(raw), nonce) }) {
			told, given = true, false
			continue
		}
		if after(line.at) && !line.meta && joined(texts, withoutMarks) != "" {
			given = true
		}
	}
	return given || slices.ContainsFunc(queue, func(text string) bool { return withoutMarks(text) != "" })
}

// queued returns what is queued after the line, and what the model is given of it.
func (l *transcriptLine) queued(queue []string) (left []string, taken string) {
	text := unquote(l.content)
	switch l.operation {
	case "enqueue":
		return append(queue, text), ""
	case "dequeue":
		if len(queue) > 0 {
			return queue[1:], queue[0]
		}
	case "remove", "popAll": // put into the running turn; taken back by a person
		if l.operation == "remove" {
			taken = text
		}
		if i := slices.Index(queue, text); i >= 0 {
			return slices.Delete(queue, i, i+1), taken
		}
		if len(l.content) == 0 {
			return nil, ""
		}
	}
	return queue, taken
}
