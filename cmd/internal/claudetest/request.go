package claudetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Request is one POST /v1/messages, or a request to another API in the same words.
type Request struct {
	SessionID string          // header X-Claude-Code-Session-Id, or what another CLI sends as its session's id; "" if it sends none
	CLI       string          `json:"-"` // which CLI asks; "" is Claude Code
	Aside     string          `json:"-"` // why the CLI asks besides the conversation, such as "title"; "" in the conversation
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	System    Content         `json:"system"`
	Messages  []Message       `json:"messages"`
	Tools     []Tool          `json:"tools"`
	Raw       json.RawMessage `json:"-"` // the whole body
}

// Message is one message of the conversation; Role is user, assistant or system.
type Message struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// Content is a list of blocks; a plain string in the JSON is one text block.
type Content []Block

// Block is one content block; which fields are set depends on Type.
type Block struct {
	Type    string          `json:"type"` // text, tool_use, tool_result, …
	Text    string          `json:"text"`
	Name    string          `json:"name"`    // tool_use
	Input   json.RawMessage `json:"input"`   // tool_use
	Content Content         `json:"content"` // tool_result
}

// Tool is a tool that the client offers to the model.
type Tool struct {
	Name string `json:"name"`
}

// UnmarshalJSON reads a string or a list of blocks.
func (c *Content) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = Content{{Type: "text", Text: text}}
		return nil
	}
	var blocks []Block
	if err := json.Unmarshal(b, &blocks); err != nil {
		return fmt.Errorf("message content: %w", err)
	}
	*c = blocks
	return nil
}

// text returns the text blocks, joined by newlines.
func (c Content) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// SystemText returns the system prompt.
func (r Request) SystemText() string { return r.System.text() }

// UserTexts returns the text blocks of the user's messages, the oldest first. It leaves out tool results, but not the
// client's own <system-reminder> blocks, because hook output arrives inside them.
func (r Request) UserTexts() []string { return userTexts(r.Messages) }

// NewTexts returns the user's texts since the model's last answer.
func (r Request) NewTexts() []string {
	from := 0
	for i, m := range r.Messages {
		if m.Role == "assistant" {
			from = i + 1
		}
	}
	return userTexts(r.Messages[from:])
}

// notPrompts are beginnings of texts that CLIs add to a person's prompt.
var notPrompts = []string{"<system-reminder>", "<environment_context>", "<user_instructions>", "<hook_context>", "<session_context>"}

// Prompt returns the last text of NewTexts that no CLI has added by itself, "" if there is none.
func (r Request) Prompt() string {
	texts := r.NewTexts()
	for i := len(texts) - 1; i >= 0; i-- {
		text := strings.TrimSpace(texts[i])
		if !slices.ContainsFunc(notPrompts, func(start string) bool { return strings.HasPrefix(text, start) }) {
			return texts[i]
		}
	}
	return ""
}

// Wrote reports whether the conversation has a Write call for the path.
func (r Request) Wrote(path string) bool {
	for _, m := range r.Messages {
		for _, b := range m.Content {
			var in struct {
				Path string `json:"file_path"`
			}
			if b.Type == "tool_use" && b.Name == "Write" && json.Unmarshal(b.Input, &in) == nil && in.Path == path {
				return true
			}
		}
	}
	return false
}

func userTexts(messages []Message) []string {
	var texts []string
	for _, m := range messages {
		if m.Role != "user" {
			continue
		}
		for _, b := range m.Content {
			if b.Type == "text" {
				texts = append(texts, b.Text)
			}
		}
	}
	return texts
}
