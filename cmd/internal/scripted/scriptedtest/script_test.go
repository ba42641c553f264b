package scriptedtest

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/scripted"
)

// What a prompt of a pipeline only passes on steers nobody.
func TestDirectivesOfSteps(t *testing.T) {
	t.Parallel()
	const header = "## Handoff from previous step (developer)\n\n**What was done**: Looked into @busy 1h.\n\n" +
		"**Decisions made**:\n- none @report\n- @hold /x\n\n**Open questions**:\n@ask\n\n**Your task**: @say nothing.\n\n"
	for name, row := range map[string]struct {
		prompt string
		want   directives
	}{
		"header":       {header + "Look. @busy 2s\n\n## Original request\n\nMend it. @edit a.go", directives{busy: 2 * time.Second, edits: []string{"a.go"}}},
		"say, own":     {"Work. @say Done.\n\n## Original request\n\nMend it.", directives{say: "Done."}},
		"say, request": {header + "Work.\n\n## Original request\n\nMend it. @say # Done\n\n## What", directives{say: "# Done\n\n## What"}},
		"quoted":       {"Noted: “Mend it. @hold /x …”. And @busy 2s", directives{busy: 2 * time.Second}},
	} {
		if got := readDirectives(row.prompt); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, row.want)
		}
	}
}

func TestBehavioursOfOneAgent(t *testing.T) {
	t.Parallel()
	b := behaviours{}
	con := scripted.Options{Name: "developer-7", SystemPrompt: "You are step 2 of 5 of the pipeline run 3."}
	if err := b.add("no-stop,developer-:think=1s,reviewer-:api-error\n2:crash-at-start 3:ignore-exit", func(name string) bool { return means(con, name) }); err != nil {
		t.Fatal(err)
	}
	if want := (behaviours{"no-stop": "", "think": "1s", "crash-at-start": ""}); !reflect.DeepEqual(b, want) {
		t.Errorf("got %v, want %v", b, want)
	}
}

func TestDirectives(t *testing.T) {
	t.Parallel()
	got := readDirectives("do @busy 3s and @hold /tmp/x, @background @ask @say # Title\ntext")
	if more := readDirectives("@tokens 760000 @compact @edit a.go, @decide Use X: it is there @edit b/c.go @decide No Y\nthen @decide Z"); !reflect.DeepEqual(more, directives{
		tokens: 760000, compact: true, edits: []string{"a.go", "b/c.go"}, decisions: []string{"Use X: it is there", "No Y", "Z"},
	}) {
		t.Errorf("got %+v", more)
	}
	want := directives{busy: 3 * time.Second, hold: "/tmp/x", background: true, ask: true, say: "# Title\ntext"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestUnknownBehaviourIsAnError(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"no-documents", "no-stop=1", "think=soon", "con:no-documents", "con:no-stop=1", "con:"} {
		if err := (behaviours{}).add(list, func(string) bool { return true }); err == nil {
			t.Errorf("%q was accepted", list)
		}
	}
}

// doc.go is where people look the names up.
func TestEveryBehaviourIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name := range known {
		if !strings.Contains(string(text), "\n//\t"+name) {
			t.Errorf("doc.go lacks %s", name)
		}
	}
}
