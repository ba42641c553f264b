package actor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

func TestUnderstand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "my data")
	handoffs := filepath.Join(dir, "handoffs")
	wardentest.Must(t, os.MkdirAll(handoffs, 0o755))
	doc, fresh := handoffs+"/20261120T141500-00000007.md", handoffs+"/20261120T151500-00000008.md"
	topics := handoffs + "/20261120T151500-00000008.topics.md"
	context := handoffs + "/20261120T141500-00000007.context.md"
	for _, path := range []string{doc, topics} {
		wardentest.Must(t, os.WriteFile(path, []byte("text"), 0o644))
	}
	for name, row := range map[string]struct {
		prompt string
		want   Assignment
	}{
		"write":          {"Write a handoff document to " + fresh + ".", Assignment{Kind: WriteHandoff, Document: fresh}},
		"write, quoted":  {"Handoff: save it as `" + fresh + "`, please", Assignment{Kind: WriteHandoff, Document: fresh}},
		"write anew":     {"[h 1] Write your handoff for your successor to " + doc + " and stop", Assignment{Kind: WriteHandoff, Document: doc}},
		"write, topics":  {"Read /x/y.md first, then write your handoff to " + fresh, Assignment{Kind: WriteHandoff, Document: fresh}},
		"experience":     {"Write the handoff to " + fresh + "; add to " + dir + "/experience.md what a successor should know", Assignment{Kind: WriteHandoff, Document: fresh}},
		"read":           {"Your predecessor left a handoff document: " + doc + ". Read it and write nothing yet.", Assignment{Kind: TakeOver, Document: doc, Reads: []string{doc}}},
		"read, context":  {"Read " + doc + " and " + context + " and go on. Create what is missing. Handoff.", Assignment{Kind: TakeOver, Document: doc, Reads: []string{doc, context}}},
		"something else": {"Look at /etc/hosts and README.md", Assignment{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			equal(t, "Understand(row.prompt)", Understand(row.prompt), row.want)
		})
	}
}

func TestFurtherHeadings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"Write to /x.md under exactly these headings: ## What Was Done (progress), ## Decisions Made (a list), ## Open Questions (blockers), ## Next Agent Context (x, y), ## current_story, ## Code Patterns. Keep done apart.": {"current_story", "Code Patterns"},
		"# How\n\n- **## What Was Done**: x\n- **## tech_constraints**: y\n\n## Focus\n\nthe parser\n\n## Experience\n":                                                                                                          {"tech_constraints"},
		"Write it": nil,
	} {
		equal(t, text, FurtherHeadings(text), want)
	}
}

func TestNextSteps(t *testing.T) {
	t.Parallel()
	document := "# T\n## Next Agent Context\n\nFiles\n\n**Next steps:**\n\n1. one\n2. two\n\n## More\n- no\n"
	equal(t, "NextSteps(document)", NextSteps(document), []string{"one", "two"})
}

func TestComposer(t *testing.T) {
	t.Parallel()
	var c Composer
	c.Text = "draft"
	c.PutAway()
	c.PutAway() // no harm on an empty composer
	c.Paste("a\nb  \n")
	equal(t, "prompt", c.Take(), "a\nb")
	equal(t, "the draft did not come back", c.Text, "draft")
	c.Text = "one\ntwo"
	for _, want := range []string{"one\n", "one", ""} {
		if c.KillLine(); c.Text != want {
			t.Errorf("C-u: %q, want %q", c.Text, want)
		}
	}
	long := strings.Repeat("y", 801)
	c.Text = "see "
	c.Paste(long)
	equal(t, "composer", c.Text, "see [Pasted text #1 +0 lines]")
	equal(t, "prompt", c.Take(), "see \n\n<pasted_content id=\"f982\">\n"+long+"\n</pasted_content id=\"f982\">\n")
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"one two three", 8, []string{"one two", "three"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"漢字漢字", 5, []string{"漢字", "漢字"}},
		{"a\n\nb", 5, []string{"a", "", "b"}},
	} {
		equal(t, fmt.Sprint("Wrap(", row.text, ", ", row.width, ")"), Wrap(row.text, row.width), row.want)
	}
}

// TestMemoryNotesDecisions: a prompt's decisions are among those of the document.
func TestMemoryNotesDecisions(t *testing.T) {
	t.Parallel()
	var m Memory
	m.Note("Look after it.\nDecision: Use X, because it is there. \nThe decisions: none.")
	m.Note("And then?")
	if len(m.Prompts) != 2 || len(m.Decisions) != 1 || m.Decisions[0] != "Use X, because it is there." {
		t.Errorf("memory %+v", m)
	}
	wardentest.Holds(t, "document", (Session{Memory: m}).Document(nil), "\n- Use X, because it is there.\n")
}

var equal = wardentest.Equal
