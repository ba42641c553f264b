package scriptedtest

import (
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// What a prompt of a pipeline only passes on steers nobody.
func TestDirectivesOfSteps(t *testing.T) {
	t.Parallel()
	const header = "## Handoff from previous step (developer)\n\n**What was done**: Looked into @tokens 9.\n\n" +
		"**Decisions made**:\n- none @report\n- @hold /x\n\n**Open questions**:\n@ask\n\n**Your task**: @say nothing.\n\n"
	for name, row := range map[string]struct {
		prompt string
		want   directives
	}{
		"header":       {header + "Look. @tokens 2\n\n## Original request\n\nMend it. @hold a.go", directives{tokens: 2, hold: "a.go"}},
		"say, own":     {"Work. @say Done.\n\n## Original request\n\nMend it.", directives{say: "Done."}},
		"say, request": {header + "Work.\n\n## Original request\n\nMend it. @say # Done\n\n## What", directives{say: "# Done\n\n## What"}},
		"quoted":       {"Noted: “Mend it. @hold /x …”. And @tokens 2", directives{tokens: 2}},
	} {
		equal(t, name, readDirectives(row.prompt), row.want)
	}
}

func TestBehavioursOfOneStep(t *testing.T) {
	t.Parallel()
	b := behaviours{}
	wardentest.Must(t, b.add("no-stop,2:think=1s\n3:ignore-exit", "2"))
	equal(t, "b", b, (behaviours{"no-stop": "", "think": "1s"}))
}

func TestDirectives(t *testing.T) {
	t.Parallel()
	got := readDirectives("do @hold /tmp/x, @ask @say # Title\ntext")
	if more := readDirectives("@tokens 760000 @decide Use X: it is there @ask @decide No Y\nthen @decide Z"); !reflect.DeepEqual(more, directives{
		tokens: 760000, ask: true, decisions: []string{"Use X: it is there", "No Y", "Z"},
	}) {
		t.Errorf("got %+v", more)
	}
	want := directives{hold: "/tmp/x", ask: true, say: "# Title\ntext"}
	equal(t, "got", got, want)
}

func TestUnknownBehaviourIsAnError(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"no-documents", "no-stop=1", "think=soon", "2:no-stops"} {
		wardentest.WantErr(t, fmt.Sprintf("%q was accepted", list), (behaviours{}).add(list, ""))
	}
}

// doc.go is where people look the names up.
func TestEveryBehaviourIsDocumented(t *testing.T) {
	t.Parallel()
	text := wardentest.Value(os.ReadFile("doc.go"))(t)
	for name := range known {
		wardentest.Holds(t, fmt.Sprintf("doc.go lacks %s", name), string(text), "\n//\t"+name)
	}
}
