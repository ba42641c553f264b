package runtimes

import (
	"slices"
	"strings"
	"time"
)

// Prompted reports whether a transcript has a prompt, from a person or from this supervisor.
func (rt *Runtime) Prompted(jsonl []byte) bool {
	for line := range rt.lines(jsonl) {
		if !line.Meta && !line.Summary && !line.Unread && len(line.userTexts()) > 0 {
			return true
		}
	}
	return false
}

// PromptedAfter reports whether a transcript shows that somebody gave the session work after the text with
// the nonce. Work is a prompt that began a turn, a prompt that went into the running turn, or a prompt that
// is still queued. Commands, notifications, answers of hooks and texts that this supervisor typed are not
// work.
//
// If the transcript has the nonce at a later time, or one that the clock has shown since then, every prompt behind it counts. The
// place of a prompt decides, not its time: a prompt that was queued has the time at which it was typed, but its line
// is where the model got it. If the transcript has no such nonce, the time of a prompt must be one that the clock has
// shown after since; nil: each later time is. Any other time was read from the clock before somebody set the clock back.
// The line that takes a prompt out of the queue has the time of that moment, and comes before the line of the
// prompt. PromptedAfter ignores changes of the queue before from, because a killed session leaves its queue
// in the transcript.
func (rt *Runtime) PromptedAfter(jsonl []byte, nonce string, since time.Time, shown func(at time.Time) bool, from time.Time) bool {
	since = since.Truncate(time.Millisecond) // times in a transcript are milliseconds
	if shown == nil {
		shown = func(at time.Time) bool { return !at.Before(since) }
	}
	var queue []string
	told, given := false, false
	after := func(at time.Time) bool { return told || !at.Equal(since) && shown(at) }
	for line := range rt.lines(jsonl) {
		if line.Summary {
			continue
		}
		if line.Kind == "queue-operation" {
			if !line.At.Before(from) {
				var taken string
				queue, taken = line.queued(queue)
				given = given || after(line.At) && rt.Clean(taken) != ""
			}
			continue
		}
		texts := line.userTexts()
		if nonce != "" && (line.At.After(since) || shown(line.At)) && slices.ContainsFunc(texts, func(raw []byte) bool { return strings.Contains(Unquote(raw), nonce) }) {
			told, given = true, false
			continue
		}
		if after(line.At) && !line.Meta && Joined(texts, rt.Clean) != "" {
			given = true
		}
	}
	return given || slices.ContainsFunc(queue, func(text string) bool { return rt.Clean(text) != "" })
}

// Queued returns the prompts that somebody has queued in a part of a transcript, and has not taken back there. The model may have been given
// some of them since then: the line that takes a prompt out of the queue does not say which, and the queue may be older than the part.
func (rt *Runtime) Queued(jsonl []byte) (queue []string) {
	for line := range rt.lines(jsonl) {
		if line.Kind == "queue-operation" && line.Operation != "dequeue" {
			queue, _ = line.queued(queue)
		}
	}
	return queue
}

// queued returns the queue of prompts after this line. taken is the prompt that the line passes to the model.
func (l *Line) queued(queue []string) (left []string, taken string) {
	text := Unquote(l.Content)
	switch l.Operation {
	case "enqueue":
		return append(queue, text), ""
	case "dequeue":
		if len(queue) > 0 {
			return queue[1:], queue[0]
		}
	case "remove", "popAll": // remove: the CLI put a prompt into the running turn; popAll: a person took prompts back
		if l.Operation == "remove" {
			taken = text
		}
		if i := slices.Index(queue, text); i >= 0 {
			return slices.Delete(queue, i, i+1), taken
		}
		if len(l.Content) == 0 {
			return nil, ""
		}
	}
	return queue, taken
}
