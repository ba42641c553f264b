package runtimes

import (
	"bytes"
	"encoding/json"
	"strings"
)

// transcriptLine is one line of a transcript, as far as it is needed.
type transcriptLine struct {
	Type        string `json:"type"`
	IsSidechain bool   `json:"isSidechain"`
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
	for raw := range bytes.Lines(jsonl) {
		if !bytes.Contains(raw, []byte(nonce)) {
			continue
		}
		var line transcriptLine
		if json.Unmarshal(raw, &line) != nil || line.IsSidechain {
			continue
		}
		switch {
		case line.Type == "user" && line.Message.Role == "user" && contentHas(line.Message.Content, nonce),
			line.Type == "attachment" && line.Attachment.Type == "queued_command" && contentHas(line.Attachment.Prompt, nonce):
			return true
		}
	}
	return false
}

// contentHas looks into a string or into the text blocks of a list.
func contentHas(content json.RawMessage, nonce string) bool {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return strings.Contains(text, nonce)
	}
	var blocks []struct {
		Text string `json:"text"` // text blocks alone have it
	}
	if json.Unmarshal(content, &blocks) != nil {
		return false
	}
	for _, b := range blocks {
		if strings.Contains(b.Text, nonce) {
			return true
		}
	}
	return false
}
