package claudetest

import (
	"cmp"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Reply is the fake model's answer to one request: an error, or texts, or a tool call, or texts and then a tool call.
type Reply struct {
	Text  string
	More  []string       // further blocks of text
	Tool  string         // name of the tool to call; "" calls none
	Input map[string]any // its input

	Status int           // an HTTP error instead of an answer, such as 400 or 529
	Error  string        // its message
	Retry  time.Duration // its Retry-After; 0 sends none
	Limit  time.Time     // refuses with a usage limit that ends then, as the provider says it; Error is its message

	InputTokens  int // usage to report; 0 stands for a small number
	OutputTokens int // usage to report; 0 stands for a small number
	// Hold makes the fake stream the first half of Text and then wait for [FakeAPI.Release].
	Hold bool
}

// Script returns the answer to a request. It must not block.
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

// WritesDocument is a model that obeys: if a text asks it to write to an absolute path that ends in .md (see
// [Instruction]), it calls Write with the document, once per path, and then stops. It answers "OK" to everything else.
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

// Says is a model that answers the same text to everything.
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

// Question is a call by which the model asks the person which database is to be used; several choices can be ticked, or one is taken.
func Question(several bool) Reply {
	return Reply{Tool: "AskUserQuestion", Input: map[string]any{"questions": []any{map[string]any{
		"question": "Which database is to be used?", "header": "Database", "multiSelect": several,
		"options": []any{
			map[string]any{"label": "PostgreSQL", "description": "the one that runs already"},
			map[string]any{"label": "SQLite", "description": "a file"},
		},
	}}}}
}

// Skill is a call of the Skill tool, by which the model runs a command of the CLI.
func Skill(name, args string) Reply {
	return Reply{Tool: "Skill", Input: map[string]any{"skill": name, "args": args}}
}

// Fails is a model that answers everything with an error of the API.
func Fails(status int, message string) Script {
	return func(Request) Reply { return Reply{Status: status, Error: message} }
}

// Ask answers with reply if a new user text contains marker and the model has not made reply's call in this turn yet.
// Otherwise it answers with next.
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

// instruction matches "write" and the first path behind it. The path ends at white space, a quote or a bracket, because
// an instruction may put it between any of these.
var instruction = regexp.MustCompile("(?is)\\bwrite\\b.*?[\\s\"'`<(](/[^\\s\"'`<>()]+?\\.md)\\b")

// Instruction returns the absolute path to which a text asks to write: the first path behind the word "write" that ends
// in .md. It finds none in a text that names a context file (*.context.md): such a text briefs a successor, which is to
// read the document.
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

// heading matches a heading anywhere in a line, because a text that asks for headings names them in prose or in a list.
var heading = regexp.MustCompile(`## ([A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)*)`)

// Headings returns the headings of the second level that a text names, in order.
func Headings(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// Subscription returns what makes Claude Code believe that it is logged in with a subscription: only that has a usage limit.
func Subscription() []string {
	return []string{"ANTHROPIC_AUTH_TOKEN=", "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy"}
}

// Limited is a model that refuses everything with a usage limit that ends at until.
func Limited(until time.Time) Script {
	return func(Request) Reply { return Reply{Limit: until, Error: "You have hit your usage limit."} }
}

// Failed reports whether the reply is an error of the API.
func (r Reply) Failed() bool { return r.Code() != http.StatusOK }

// Code returns the HTTP status.
func (r Reply) Code() int {
	switch {
	case r.Status != 0:
		return r.Status
	case !r.Limit.IsZero():
		return http.StatusTooManyRequests
	}
	return http.StatusOK
}

// RetryHeader sets Retry-After, in seconds: to Retry, or to the time until the limit ends.
func (r Reply) RetryHeader(h http.Header) {
	wait := r.Retry
	if wait == 0 && !r.Limit.IsZero() {
		wait = max(time.Until(r.Limit), time.Second)
	}
	if wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
}

// Tokens returns the usage to report.
func (r Reply) Tokens() (input, output int) {
	return cmp.Or(r.InputTokens, 1000), cmp.Or(r.OutputTokens, 10)
}
