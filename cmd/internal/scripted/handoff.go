package scripted

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon/actor"
)

// document is the text of the handoff document, with further headings.
func (a *agent) document(b behaviours, further []string) string {
	switch {
	case b.has("empty-document"):
		return ""
	case b.has("blank-document"):
		return " \n\t\n  \n"
	case b.has("no-further"):
		further = nil
	}
	var claims []string
	if b.has("claims") {
		claims = append(claims, "ghost.go")
	}
	id, _ := a.ids()
	text := actor.Session{Name: a.opt.name, ID: id, Cwd: a.cwd, Memory: a.memory.Memory}.Document(further, claims...)
	if b.has("no-headings") {
		lines := strings.SplitAfter(text, "\n")
		text = strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "#") }), "")
	}
	if b.has("huge-document") {
		const filler = "One more line about nothing, as an agent writes that does not know when to stop.\n"
		missing := max(b.size()-len(text), 0)
		text += strings.Repeat(filler, missing/len(filler)+1)[:missing]
	}
	return text
}

var (
	// handedOn begins the prompt of a step that has another one before it.
	handedOn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^## Handoff from previous step \(([^)\n]+)\)\n`) })

	// approvalNote ends the prompt of a step that was approved with a comment.
	approvalNote = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\n\n\[Approval note: (.*)\]\s*$`) })
)

// report is a final message under the four headings, one paragraph each. It names the original request or,
// where the prompt has none, the prompt's first line, and what else a step of a pipeline is told.
func (a *agent) report(prompt string) string {
	m, before := a.memory, ""
	decisions := []string{"Work only inside " + a.cwd + ": nothing outside belongs to this task"}
	if found := handedOn().FindStringSubmatch(prompt); found != nil {
		before = "Began with what the " + found[1] + " has left. "
	}
	if at := approvalNote().FindStringSubmatchIndex(prompt); at != nil {
		decisions = append(decisions, "The approval note goes first: “"+actor.Quote(prompt[at[2]:at[3]], 100)+"”")
		prompt = prompt[:at[0]]
	}
	if at := strings.LastIndex(prompt, originalRequest); at >= 0 {
		prompt = prompt[at+len(originalRequest):]
	}
	first, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	asked := strings.TrimSuffix(actor.Quote(first, 100), ".")
	modified := slices.Compact(slices.Sorted(slices.Values(m.Edited)))
	var w strings.Builder
	fmt.Fprintf(&w, "## What Was Done\n\n%sLooked into “%s”. Files modified: %s.\n\n", before, asked, actor.OrNone(modified))
	fmt.Fprintf(&w, "## Decisions Made\n\n%s\n", actor.List(append(decisions, m.Decisions...), ""))
	fmt.Fprintf(&w, "## Open Questions\n\n- Is that all that the user expects?\n\n")
	fmt.Fprintf(&w, "## Next Agent Context\n\nGo on with the request from there. Files here: %s.\n", actor.OrNone(actor.ListFiles(a.cwd)))
	return w.String()
}
