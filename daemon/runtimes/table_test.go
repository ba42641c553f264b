package runtimes

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestTable holds docs/runtimes.md against the capabilities. After a change of these:
//
//	go test ./daemon/runtimes -run TestTable -update
func TestTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "runtimes.md")
	want := document()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the capabilities say: run go test ./daemon/runtimes -run TestTable -update", path)
	}
}

const intro = `<!-- Generated from daemon/runtimes by table_test.go.
     Do not edit: run go test ./daemon/runtimes -run TestTable -update -->
# Runtimes

A runtime is a CLI coding agent that understudy can start, supervise and hand over. Each can hand over to each: the successor
may play another persona, on another CLI, with another model. ` + "`understudy runtimes`" + ` shows which of them this machine has, and
` + "`understudy doctor`" + ` what is wrong with them. They differ in what they tell and in how they can be told; this table is made
of the values by which the daemon itself decides.
`

// document returns docs/runtimes.md.
func document() string {
	var b strings.Builder
	b.WriteString(intro + "\n| |")
	for _, rt := range all {
		b.WriteString(" " + rt.Title + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n| name |")
	for _, rt := range all {
		b.WriteString(" `" + rt.Name + "` |")
	}
	b.WriteString("\n")
	for i, fact := range all[0].Facts() {
		b.WriteString("| " + fact.Topic + " |")
		for _, rt := range all {
			b.WriteString(" " + strings.ReplaceAll(rt.Facts()[i].How, "|", `\|`) + " |")
		}
		b.WriteString("\n")
	}
	for _, rt := range all {
		if len(rt.Can.Cannot) > 0 {
			fmt.Fprintf(&b, "\n## What %s cannot do, or does worse\n\n", rt.Title)
			for _, line := range rt.Can.Cannot {
				b.WriteString("- " + line + "\n")
			}
		}
	}
	b.WriteString(others)
	for _, line := range generic().Can.Cannot {
		b.WriteString("- " + line + "\n")
	}
	return b.String()
}

// generic is the runtime of a CLI that we do not know.
func generic() *Runtime {
	rt, err := NewGeneric("other", Generic{Ready: ">"})
	if err != nil {
		panic(err)
	}
	return rt
}

const others = `
## Any other CLI

A CLI that understudy does not know is supervised by its screen, with these lines in config.yaml:

    runtimes:
      aider:
        command: [aider, --yes-always]
        ready: '^(\w+)?> '     # a row near the bottom of the screen that says: I take a prompt (a regular expression)
        exit: /exit           # typed to end it; without it SIGTERM
        quiet_after: 15s      # the screen has not changed for so long: the turn has ended

Its agents are started, get their skill as the first prompt, take messages, write their document and are handed over, also to and
from the runtimes above. A text is pasted, and submitted with Enter only after it was seen on the screen. What that cannot do:

`

// TestFacts: a runtime that says nothing about a topic is a hole in the table.
func TestFacts(t *testing.T) {
	t.Parallel()
	for _, rt := range all {
		for _, f := range rt.Facts() {
			if f.How == "–" {
				t.Errorf("%s says nothing about %q", rt.Name, f.Topic)
			}
		}
		if rt.Can.Exit == "" || len(rt.Can.Ways) == 0 || rt.Launch == nil || rt.ReadScreen == nil || rt.line == nil || rt.clean == nil {
			t.Errorf("%s lacks a part that every runtime has", rt.Name)
		}
	}
}
