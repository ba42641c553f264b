package runtimes

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// Prompted reports whether a transcript has a prompt, from a person or from this supervisor.
func Prompted(jsonl []byte) bool {
	for raw := range bytes.Lines(jsonl) {
		line, err := readLine(raw)
		if err == nil && !line.sidechain && !line.meta && !line.summary && len(line.userTexts()) > 0 {
			return true
		}
	}
	return false
}

// PromptedAfter reports whether a transcript shows that somebody gave the session work after the text with
// the nonce: a prompt of a turn, a prompt that went into the running turn, or one that is still queued.
// Commands, notifications, answers of hooks and texts that this supervisor typed are not work.
//
// A queued prompt has the time at which it was typed, but stands where the model got it. So its place behind
// the nonce decides. Its time decides only if the transcript has no nonce at since or later: then the time
// must be after since, and not after until, if until is set. A time after until was read before the clock was
// set back. The line that takes a prompt out of the queue has the time of that moment, and comes before the
// prompt itself. PromptedAfter ignores prompts that were queued before from: a killed session leaves its
// queue behind.
func PromptedAfter(jsonl []byte, nonce string, since, until, from time.Time) bool {
	since = since.Truncate(time.Millisecond) // times in a transcript are milliseconds
	var queue []string
	told, given := false, false
	after := func(at time.Time) bool { return told || at.After(since) && (until.IsZero() || !at.After(until)) }
	for raw := range bytes.Lines(jsonl) {
		line, err := readLine(raw)
		if err != nil || line.sidechain || line.summary {
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

// queued returns the queue after this line, and the prompt that the line passes to the model.
func (l *transcriptLine) queued(queue []string) (left []string, taken string) {
	text := unquote(l.content)
	switch l.operation {
	case "enqueue":
		return append(queue, text), ""
	case "dequeue":
		if len(queue) > 0 {
			return queue[1:], queue[0]
		}
	case "remove", "popAll": // the CLI put it into the running turn; a person took it back
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
