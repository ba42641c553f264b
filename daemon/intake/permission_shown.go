package intake

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

// callOf reads the call of a PermissionRequest; ok is false if the hook does not have all of it.
func callOf(p *hooks.Payload) (c ToolCall, ok bool) {
	c.Tool = p.ToolName
	if p.Truncated || p.Malformed || p.ToolName == "" || json.Unmarshal(p.ToolInput, &c.Args) != nil {
		return c, false
	}
	return c, true
}

// PermissionOutput is the answer to the hook, in Claude Code's form.
func PermissionOutput(p *daemon.Permission) json.RawMessage {
	decision := map[string]any{"behavior": "allow"}
	if p.Verdict == daemon.Deny {
		decision = map[string]any{"behavior": "deny", "message": cmp.Or(p.Sentence, "The operator has denied it.")}
	}
	return event.JSON(map[string]any{
		"hookSpecificOutput": map[string]any{"hookEventName": "PermissionRequest", "decision": decision},
	})
}

// digestOf returns the checksum of what a person is shown.
func digestOf(tool, shown string) string {
	return engine.Checksum([]byte(tool + "\x00" + shown))
}

const (
	MaxShown       = 64 << 10 // bytes
	maxSubject     = 300      // runes
	maxDescription = 300      // runes
)

// ToolCall is the call of a tool that a PermissionRequest asks about, as far as rules and people must know it.
type ToolCall struct {
	Tool string
	Args map[string]json.RawMessage
}

// text returns an argument that is a text; "": the call has no such argument.
func (c *ToolCall) text(name string) string {
	var s string
	_ = json.Unmarshal(c.Args[name], &s) // an argument of another kind is shown as JSON
	return s
}

// path returns the file that the call reads or changes; "": it is not about one file.
func (c *ToolCall) path() string { return cmp.Or(c.text("file_path"), c.text("notebook_path")) }

// edits reports whether the call changes a file.
func (c *ToolCall) edits() bool {
	return slices.Contains([]string{"Edit", "MultiEdit", "Write", "NotebookEdit"}, c.Tool) && c.path() != ""
}

// IsQuestion reports whether the dialog asks for more than an allow or a deny, so that only the pane can answer it.
func (c *ToolCall) IsQuestion() bool { return c.Tool == "AskUserQuestion" || c.Tool == "ExitPlanMode" }

// Show fills in what people are shown of the call.
func (c *ToolCall) Show(p *daemon.Permission) {
	p.Tool = c.Tool
	p.Subject = words.Clip(words.Line(cmp.Or(c.text("command"), c.path(), c.text("url"), c.text("path"), c.text("query"), c.text("pattern"))), maxSubject)
	p.Description = words.Clip(words.Line(c.text("description")), maxDescription)
	p.Shown, p.Whole = c.Shown(), true
	if len(p.Shown) > MaxShown {
		p.Shown, p.Whole = strings.ToValidUTF8(p.Shown[:MaxShown], ""), false
	}
	p.Digest = digestOf(p.Tool, p.Shown)
	if p.Whole {
		p.Rule = c.Rule()
	}
}

// Shown returns all arguments of the call: first what it does, as people read it, then the other ones as JSON.
func (c *ToolCall) Shown() string {
	var b strings.Builder
	done := map[string]bool{"description": true} // it is shown beside
	if c.text("description") == "" {
		delete(done, "description")
	}
	first := func(names ...string) {
		for _, name := range names {
			if s := c.text(name); s != "" {
				fmt.Fprintln(&b, s)
				done[name] = true
			}
		}
	}
	switch {
	case c.Tool == "Bash":
		first("command")
	case c.Tool == "Edit" && c.path() != "":
		first("file_path")
		diff(&b, c.text("old_string"), c.text("new_string"))
		done["old_string"], done["new_string"] = true, true
	case c.Tool == "Write" && c.path() != "":
		first("file_path")
		diff(&b, "", c.text("content"))
		done["content"] = true
	default:
		first("file_path", "notebook_path", "url", "prompt", "query")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		if done[name] {
			continue
		}
		var line bytes.Buffer
		if json.Compact(&line, c.Args[name]) != nil {
			line.Write(c.Args[name])
		}
		fmt.Fprintf(&b, "%s: %s\n", name, line.Bytes())
	}
	return sight.Visible(strings.TrimSuffix(b.String(), "\n"))
}

// diff writes the lines that go and the lines that come.
func diff(b *strings.Builder, was, is string) {
	mark := func(sign, text string) {
		if text == "" {
			return
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			fmt.Fprintf(b, "%s%s\n", sign, line)
		}
	}
	mark("-", was)
	mark("+", is)
}

// Rule returns the rule that allows this call, for allow_agent; "": there is none that says what it allows.
func (c *ToolCall) Rule() string {
	switch {
	case c.Tool == "Bash" && plainCommand(c) && c.text("command") != "":
		return "Bash(" + literal(c.text("command")) + ")"
	case c.edits():
		return "Edit(" + literal(c.path()) + ")"
	case c.Tool == "WebFetch":
		if u, err := url.Parse(c.text("url")); err == nil && u.Hostname() != "" {
			return "WebFetch(domain:" + u.Hostname() + ")"
		}
	case strings.HasPrefix(c.Tool, "mcp__"):
		return c.Tool
	}
	return ""
}

// literal returns a pattern that matches the text only.
func literal(text string) string { return strings.NewReplacer(`\`, `\\`, `*`, `\*`).Replace(text) }

// plainText returns the text of which literal made a pattern.
func plainText(pattern string) string {
	return strings.NewReplacer(`\\`, `\`, `\*`, `*`).Replace(pattern)
}
