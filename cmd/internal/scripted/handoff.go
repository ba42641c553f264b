package scripted

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// headings that every handoff document has.
var headings = []string{"What Was Done", "Decisions Made", "Open Questions", "Next Agent Context"}

// askedHeading is a heading that a text names; one that begins a line is the text's own.
var askedHeading = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^#\n]## +([^\s,.;:()*#"\x60][^,.;:()*#"\x60\n]*)`) })

// furtherHeadings are the headings that an instruction, or the file that it points to, asks for beside
// the four. What follows "Focus on this:" is the focus's own.
func furtherHeadings(instruction string) []string {
	instruction, _, _ = strings.Cut(instruction, "\nFocus on this:\n")
	var out []string
	for _, found := range askedHeading().FindAllStringSubmatch(instruction, -1) {
		name := strings.TrimSpace(found[1])
		if !slices.Contains(headings, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

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
	text := a.handoffText(b, further)
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

// handoffText is a believable handoff, made of the prompts and the files of the working directory.
func (a *agent) handoffText(b behaviours, further []string) string {
	name := a.opt.name
	if name == "" {
		name = "scripted agent"
	}
	id, _ := a.ids()
	m, files := a.memory, listFiles(a.cwd)
	last := "no task was given"
	if n := len(m.prompts); n > 0 {
		last = quote(m.prompts[n-1], 100)
	}
	var done, questions []string
	if m.predecessor != "" {
		done = append(done, "Took over from "+m.predecessor)
	}
	for _, title := range m.titles() {
		done = append(done, "Done: looked into “"+title+"”")
		questions = append(questions, "Is “"+quote(title, 60)+"” finished as the user expects?")
	}
	modified := slices.Compact(slices.Sorted(slices.Values(m.edited)))
	if b.has("claims") {
		modified = append(modified, "ghost.go")
	}
	decisions := []string{
		"Work only inside " + a.cwd + ": nothing outside belongs to this task",
		"Look before changing: the tasks were noted first",
	}
	next := append([]string{"Go on with “" + last + "”"}, m.inherited...)
	next = append(next, "Read the files of "+a.cwd+" before changing any of them")
	var w strings.Builder
	fmt.Fprintf(&w, "# Handoff from %s\n\nSession %s, in %s.\n\n", name, id, a.cwd)
	fmt.Fprintf(&w, "## What Was Done\n\n**Current work:** %s\n\n**Progress:**\n\n%s\n**Files modified:** %s\n\n", last, list(done, "Nothing yet"), orNone(modified))
	fmt.Fprintf(&w, "**Intended, not done:** the changes themselves\n\n")
	fmt.Fprintf(&w, "## Decisions Made\n\n%s\n", list(append(decisions, m.decisions...), ""))
	fmt.Fprintf(&w, "## Open Questions\n\n%s\n**Blockers:** none known\n\n", list(questions, "None"))
	fmt.Fprintf(&w, "## Next Agent Context\n\nFiles here: %s\n\n**Next steps:**\n\n", orNone(files))
	for i, step := range next[:min(len(next), 5)] {
		fmt.Fprintf(&w, "%d. %s\n", i+1, step)
	}
	for _, heading := range further {
		fmt.Fprintf(&w, "\n## %s\n\nOf this the task “%s” says what is known so far. Nothing else has been settled about it.\n", heading, last)
	}
	return w.String()
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
		decisions = append(decisions, "The approval note goes first: “"+quote(prompt[at[2]:at[3]], 100)+"”")
		prompt = prompt[:at[0]]
	}
	if at := strings.LastIndex(prompt, originalRequest); at >= 0 {
		prompt = prompt[at+len(originalRequest):]
	}
	first, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	asked := strings.TrimSuffix(quote(first, 100), ".")
	modified := slices.Compact(slices.Sorted(slices.Values(m.edited)))
	var w strings.Builder
	fmt.Fprintf(&w, "## What Was Done\n\n%sLooked into “%s”. Files modified: %s.\n\n", before, asked, orNone(modified))
	fmt.Fprintf(&w, "## Decisions Made\n\n%s\n", list(append(decisions, m.decisions...), ""))
	fmt.Fprintf(&w, "## Open Questions\n\n- Is that all that the user expects?\n\n")
	fmt.Fprintf(&w, "## Next Agent Context\n\nGo on with the request from there. Files here: %s.\n", orNone(listFiles(a.cwd)))
	return w.String()
}

func list(items []string, none string) string {
	if len(items) == 0 {
		items = []string{none}
	}
	return "- " + strings.Join(items, "\n- ") + "\n"
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
