package runtimes

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// transcriptLine is one line of a transcript, as far as it is needed.
type transcriptLine struct {
	Type        string    `json:"type"`
	Timestamp   time.Time `json:"timestamp"`
	IsSidechain bool      `json:"isSidechain"`
	Message     struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"` // a string, or blocks
	} `json:"message"`
	Attachment struct {
		Type   string          `json:"type"`
		Prompt json.RawMessage `json:"prompt"` // of a queued_command; a string, or blocks
	} `json:"attachment"`
}

// TranscriptContains tells whether a user's text in the transcript, which is a prompt or the
// answer of a Stop hook, contains the nonce. jsonl is the transcript or a part of it: a line that
// is cut off does not count. What tools returned does not count either (an agent may well read
// its own instruction back), nor what is only queued.
func TranscriptContains(jsonl []byte, nonce string) bool {
	if nonce == "" {
		return false
	}
	return anyUserText(jsonl, func(text string, _ time.Time) bool { return strings.Contains(text, nonce) })
}

// TranscriptHasPrompt tells whether a prompt that is the whole text, but for what the composer
// changes in it, was submitted at since or later. Without a nonce only that is evidence: a short
// text may stand in many others, and may have been said before.
func TranscriptHasPrompt(jsonl []byte, text string, since time.Time) bool {
	want := squeeze(text)
	since = since.Truncate(time.Millisecond) // a transcript tells no more than that
	return anyUserText(jsonl, func(got string, at time.Time) bool {
		return want != "" && !at.Before(since) && squeeze(wrapper.ReplaceAllString(got, " ")) == want
	})
}

// anyUserText looks for a text of the user's that is as wanted.
func anyUserText(jsonl []byte, wanted func(text string, at time.Time) bool) bool {
	for raw := range bytes.Lines(jsonl) {
		var line transcriptLine
		if json.Unmarshal(raw, &line) != nil || line.IsSidechain {
			continue
		}
		content := line.Message.Content
		switch {
		case line.Type == "user" && line.Message.Role == "user":
		case line.Type == "attachment" && line.Attachment.Type == "queued_command":
			content = line.Attachment.Prompt
		default:
			continue
		}
		for _, text := range texts(content) {
			if wanted(text, line.Timestamp) {
				return true
			}
		}
	}
	return false
}

// texts returns a string, or the text blocks of a list.
func texts(content json.RawMessage) []string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []string{text}
	}
	var blocks []struct {
		Text string `json:"text"` // text blocks alone have it
	}
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	var all []string
	for _, b := range blocks {
		all = append(all, b.Text)
	}
	return all
}
