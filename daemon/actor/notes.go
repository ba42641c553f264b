package actor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Memory is what an agent remembers of its session.
type Memory struct {
	Prompts     []string // oldest first, without instructions to hand over
	Predecessor string   // the handoff document that the agent took over from
	Inherited   []string // the next steps in that document
	Decisions   []string // the decisions that prompts named
	Edited      []string // the files that the agent changed, as prompts named them
}

// Note adds a prompt, and the decisions that it names: each stands at the end of a line, behind the word "Decision:".
func (m *Memory) Note(prompt string) {
	m.Prompts = append(m.Prompts, prompt)
	for line := range strings.Lines(prompt) {
		if _, decision, ok := strings.Cut(line, "Decision: "); ok {
			m.Decisions = append(m.Decisions, strings.TrimSpace(decision))
		}
	}
}

// Titles returns the prompts, each as one short line.
func (m Memory) Titles() []string {
	var out []string
	for _, prompt := range m.Prompts {
		out = append(out, Quote(prompt, 100))
	}
	return out
}

// Session has the facts about a session that its handoff document names.
type Session struct {
	Name string // the agent's name; may be empty
	ID   string
	Cwd  string
	Memory
}

// Document returns the text of a handoff document. It makes the text from the memory and from the files in the working
// directory. The further headings come after those that every document has.
func (m Session) Document(further []string) string {
	name := m.Name
	if name == "" {
		name = "scripted agent"
	}
	files := ListFiles(m.Cwd)
	last := "no task was given"
	if n := len(m.Prompts); n > 0 {
		last = Quote(m.Prompts[n-1], 100)
	}
	var done, questions []string
	if m.Predecessor != "" {
		done = append(done, "Took over from "+m.Predecessor)
	}
	for _, title := range m.Titles() {
		done = append(done, "Done: looked into “"+title+"”")
		questions = append(questions, "Is “"+Quote(title, 60)+"” finished as the user expects?")
	}
	modified := slices.Compact(slices.Sorted(slices.Values(m.Edited)))
	decisions := []string{
		"Work only inside " + m.Cwd + ": nothing outside belongs to this task",
		"Look before changing: the tasks were noted first",
	}
	next := append([]string{"Go on with “" + last + "”"}, m.Inherited...)
	next = append(next, "Read the files of "+m.Cwd+" before changing any of them")
	var w strings.Builder
	fmt.Fprintf(&w, "# Handoff from %s\n\nSession %s, in %s.\n\n", name, m.ID, m.Cwd)
	fmt.Fprintf(&w, "## What Was Done\n\n**Current work:** %s\n\n**Progress:**\n\n%s\n**Files modified:** %s\n\n", last, List(done, "Nothing yet"), OrNone(modified))
	fmt.Fprintf(&w, "**Intended, not done:** the changes themselves\n\n")
	fmt.Fprintf(&w, "## Decisions Made\n\n%s\n", List(append(decisions, m.Decisions...), ""))
	fmt.Fprintf(&w, "## Open Questions\n\n%s\n**Blockers:** none known\n\n", List(questions, "None"))
	fmt.Fprintf(&w, "## Next Agent Context\n\nFiles here: %s\n\n**Next steps:**\n\n", OrNone(files))
	for i, step := range next[:min(len(next), 5)] {
		fmt.Fprintf(&w, "%d. %s\n", i+1, step)
	}
	for _, heading := range further {
		fmt.Fprintf(&w, "\n## %s\n\nOf this the task “%s” says what is known so far. Nothing else has been settled about it.\n", heading, last)
	}
	return w.String()
}

// List returns a list in Markdown. Without items, the list has none as its only item.
func List(items []string, none string) string {
	if len(items) == 0 {
		items = []string{none}
	}
	return "- " + strings.Join(items, "\n- ") + "\n"
}

// OrNone returns the names on one line, or "none" if there are no names.
func OrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Author returns the first heading of a document, which names the document's author.
func Author(document string) string {
	for _, text := range strings.Split(document, "\n") {
		if title, ok := strings.CutPrefix(text, "# "); ok {
			return Quote(title, 80)
		}
	}
	return "a document without a title"
}

var listItem = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(?:[-*]|\d+[.)])\s+(.+)$`) })

// NextSteps returns the first five list items after the words "next steps". Without these words, it returns the first
// five list items of the section Next Agent Context.
func NextSteps(document string) []string {
	lower := strings.ToLower(document)
	at := strings.LastIndex(lower, "next steps")
	if at < 0 {
		at = strings.Index(lower, "## next agent context")
	}
	if at < 0 {
		return nil
	}
	var steps []string
	for _, text := range strings.Split(document[min(at, len(document)):], "\n")[1:] {
		if item := listItem().FindStringSubmatch(text); item != nil && len(steps) < 5 {
			steps = append(steps, item[1])
		} else if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "</") {
			break
		}
	}
	return steps
}
