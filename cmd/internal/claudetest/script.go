package claudetest

import (
	"net/http"
	"regexp"
	"strings"
)

// Reply is what the fake model answers to one request: an error, or a text, or a tool call, or
// texts and then a tool call.
type Reply struct {
	Text  string
	More  []string       // further blocks of text
	Tool  string         // name of the tool to call; "" calls none
	Input map[string]any // its input

	Status int    // an HTTP error instead of an answer, such as 400 or 529
	Error  string // its message

	InputTokens int // usage to report; 0 is a small number
	// Hold streams the first half of Text and then waits for [FakeAPI.Release].
	Hold bool
}

// Script decides the answer to a request. It must not block.
type Script func(Request) Reply

// Document is a handoff document with the four headings.
const Document = `# Handoff

## What Was Done
The parser is written and tested.

## Decisions Made
Tabs are an error.

## Open Questions
None.

## Next Agent Context
Continue with the renderer.
`

// WritesDocument is the model that does as it is told: asked to write to an absolute path that
// ends in .md (see [Instruction]), it calls Write with the document, once per path, and then
// stops. Everything else it answers with "OK".
func WritesDocument(document string) Script {
	return func(r Request) Reply {
		for _, text := range r.NewTexts() {
			if path, ok := Instruction(text); ok && !r.Wrote(path) {
				return Write(path, document)
			}
		}
		return Reply{Text: "OK"}
	}
}

// WritesNothing is the model that ignores its instructions: it answers "OK" to everything.
func WritesNothing() Script { return Says("OK") }

// Says answers the same text to everything.
func Says(text string) Script { return func(Request) Reply { return Reply{Text: text} } }

// Write is a call of the Write tool.
func Write(path, content string) Reply {
	return Reply{Tool: "Write", Input: map[string]any{"file_path": path, "content": content}}
}

// Bash is a call of the Bash tool; background leaves the command running when the turn ends.
func Bash(command string, background bool) Reply {
	return Reply{Tool: "Bash", Input: map[string]any{
		"command": command, "description": "test", "run_in_background": background,
	}}
}

// Skill is a call of the Skill tool: the model runs a command of the CLI's.
func Skill(name, args string) Reply {
	return Reply{Tool: "Skill", Input: map[string]any{"skill": name, "args": args}}
}

// Fails answers everything with an API error.
func Fails(status int, message string) Script {
	return func(Request) Reply { return Reply{Status: status, Error: message} }
}

// Ask calls for tool when a new user text contains marker and the call has not been made yet in
// this turn, and otherwise does what next says.
func Ask(marker string, reply Reply, next Script) Script {
	return func(r Request) Reply {
		for _, text := range r.NewTexts() {
			if strings.Contains(text, marker) {
				return reply
			}
		}
		return next(r)
	}
}

// A path ends at white space, quotes or brackets: an instruction may put it into any of them.
var instruction = regexp.MustCompile("(?is)\\bwrite\\b.*?[\\s\"'`<(](/[^\\s\"'`<>()]+?\\.md)\\b")

// Instruction finds the absolute path that a text asks to write to: the first one that ends in
// .md after the word "write". A text that names a context file (*.context.md) is a successor's
// briefing, which names the same document in order to have it read.
func Instruction(text string) (path string, ok bool) {
	if strings.Contains(text, ".context.md") {
		return "", false
	}
	m := instruction.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// A heading that is asked for is in a line of prose or an item of a list; one that is written has a
// line of its own.
var heading = regexp.MustCompile(`## ([A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)*)`)

// Headings are the headings of the second level that a text names, in order.
func Headings(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

func (r Reply) status() int {
	if r.Status == 0 {
		return http.StatusOK
	}
	return r.Status
}
