//go:build e2e

package stories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
)

// These functions play the model.

var markdown = regexp.MustCompile(`/\S+?\.md\b`)

// obeys is a model that does what understudy tells it, one tool call after the other. It writes the document that it
// is asked for and adds to the persona's experience, or it reads the files that a prompt names. As a fork it answers
// with the document. It answers every other prompt with "OK".
func obeys(r claudetest.Request) claudetest.Reply {
	for _, text := range r.UserTexts() {
		if isFork(text) {
			return claudetest.Reply{Text: document(text)}
		}
		for _, step := range todo(text) {
			if !answeredCall(r, step) {
				return step
			}
		}
	}
	return claudetest.Reply{Text: "OK"}
}

// isFork reports whether a text is the question to a fork of a session.
func isFork(text string) bool {
	return strings.Contains(text, "Answer with the handoff document itself")
}

// sections maps some headings to what the model writes under them. Under any other heading it writes the heading's
// name.
var sections = map[string]string{
	"What Was Done":      "`parser.go` is written.",
	"Decisions Made":     "- Tabs are an error, because the linter wants it so.\n- No generator: the grammar is small.",
	"Open Questions":     "None.",
	"Next Agent Context": "Continue with the renderer.",
}

// document has exactly the headings that a text asks for.
func document(asked string) string {
	var b strings.Builder
	b.WriteString("# Handoff\n")
	for _, name := range claudetest.Headings(asked) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", name, cmp.Or(sections[name], "All about the "+strings.ToLower(name)+"."))
	}
	return b.String()
}

func todo(text string) (steps []claudetest.Reply) {
	if !strings.Contains(text, "] understudy: ") {
		return nil
	}
	if o, ok := orderOf(text); ok {
		return append(o.first, claudetest.Write(o.document, document(o.text)), read(o.experience),
			claudetest.Reply{Tool: "Edit", Input: map[string]any{"file_path": o.experience, "old_string": known, "new_string": known + "\n" + learned}})
	}
	for _, path := range markdown.FindAllString(text, -1) {
		steps = append(steps, read(path))
	}
	return steps
}

// order is what an instruction asks of the outgoing agent.
type order struct {
	first                []claudetest.Reply // the call that reads the rest of the instruction, if it stands in a file
	document, experience string             // paths
	text                 string             // the whole instruction
}

// orderOf reads an instruction. Where the paths are long, its line names a file, and only that file names the experience.
func orderOf(text string) (order, bool) {
	path, ok := claudetest.Instruction(text)
	if !ok {
		return order{}, false
	}
	o := order{document: path, text: text}
	for _, named := range markdown.FindAllString(text, -1) {
		if strings.HasSuffix(named, ".request.md") {
			o.first = append(o.first, read(named))
			o.text += "\n" + fileText(named)
		}
	}
	paths := markdown.FindAllString(o.text, -1)
	o.experience = paths[len(paths)-1]
	return o, true
}

func read(path string) claudetest.Reply {
	return claudetest.Reply{Tool: "Read", Input: map[string]any{"file_path": path}}
}

// answeredCall reports whether the conversation has the result of that call.
func answeredCall(r claudetest.Request, call claudetest.Reply) bool {
	for _, m := range r.Messages {
		for _, b := range m.Content {
			var in struct {
				Path string `json:"file_path"`
			}
			if b.Type == "tool_use" && b.Name == call.Tool && json.Unmarshal(b.Input, &in) == nil && in.Path == call.Input["file_path"] {
				return true
			}
		}
	}
	return false
}

// results lists the texts that tools returned in the conversation.
func results(r claudetest.Request) (out []string) {
	for _, m := range r.Messages {
		for _, b := range m.Content {
			for _, part := range b.Content {
				out = append(out, part.Text)
			}
		}
	}
	return out
}

// answered reports whether the request brings the result of a tool call.
func answered(r claudetest.Request) bool {
	last := r.Messages[len(r.Messages)-1]
	for i := len(r.Messages) - 1; i > 0 && last.Role == "system"; i-- { // The CLI's own remarks come last.
		last = r.Messages[i-1]
	}
	return slices.ContainsFunc(last.Content, func(b claudetest.Block) bool { return b.Type == "tool_result" })
}

// filled makes the model report so many tokens in a session that has heard the text.
func filled(text string, tokens int, next claudetest.Script) claudetest.Script {
	return func(r claudetest.Request) claudetest.Reply {
		reply := next(r)
		if slices.ContainsFunc(r.UserTexts(), func(heard string) bool { return strings.Contains(heard, text) }) {
			reply.InputTokens = tokens
		}
		return reply
	}
}
