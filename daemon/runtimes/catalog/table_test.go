package catalog

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestTable holds docs/runtimes.md against the capabilities. After a change of these:
//
//	go test ./daemon/runtimes/catalog -run TestTable -update
func TestTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "docs", "runtimes.md")
	want := document()
	if *update {
		must(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got := value(os.ReadFile(path))(t)
	equal(t, path+" is not what the capabilities say: run go test ./daemon/runtimes/catalog -run TestTable -update", string(got), want)
}

const intro = `<!-- Generated from daemon/runtimes/catalog by table_test.go.
     Do not edit: run go test ./daemon/runtimes/catalog -run TestTable -update -->
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
	b.WriteString(modesIntro)
	asks := recordedAsks()
	for _, rt := range all {
		fmt.Fprintf(&b, "\n### %s\n\n| mode | %s |\n|---|%s\n", rt.Title, strings.Join(asksKinds[:], " | "), strings.Repeat("---|", len(asksKinds)))
		for _, mode := range append([]string{""}, rt.Modes...) {
			row := ""
			for _, kind := range asksKinds {
				got, ok := asks[rt.Name][kind][mode]
				if !ok {
					row = ""
					break
				}
				row += " " + got.Command + ", " + got.Write + " |"
			}
			if row != "" {
				fmt.Fprintf(&b, "| %s |%s\n", cmp.Or(mode, "(none)"), row)
			}
		}
	}
	b.WriteString(accountSection())
	b.WriteString(others)
	for _, line := range generic().Can.Cannot {
		b.WriteString("- " + line + "\n")
	}
	return b.String()
}

// asksKinds are the kinds of a user's own settings.
var asksKinds = [...]string{"none", "looser", "narrower", "patterns"}

// recordedAsks is what TestModes of cmd/internal/stories has seen: by runtime, kind of settings and mode.
func recordedAsks() map[string]map[string]map[string]runtimes.Asks {
	b, err := os.ReadFile(filepath.Join("../testdata", "asks.json"))
	var all map[string]map[string]map[string]runtimes.Asks
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		panic(err)
	}
	return all
}

// TestNarrowModesHold: no settings of a user's make a mode do unasked what the mode asks about with no settings, and what they deny no
// mode allows. Where a CLI decides that itself, its table says so.
func TestNarrowModesHold(t *testing.T) {
	t.Parallel()
	width := map[string]int{"refused": 1, "asks": 2, "runs": 3}
	for name, kinds := range recordedAsks() {
		for _, kind := range asksKinds {
			for mode, got := range kinds[kind] {
				plain, ok := kinds["none"][mode]
				if mode == "" || !ok || ownRulesHold[name] {
					continue
				}
				if width[got.Command] > width[plain.Command] || width[got.Write] > width[plain.Write] {
					t.Errorf("%s in the mode %s with settings that are %s: %+v, and without any %+v", name, mode, kind, got, plain)
				}
				if (kind == "narrower" || kind == "patterns") && name != "codex" && got.Write != "refused" { // Codex has no rule that denies a file
					t.Errorf("%s in the mode %s writes a file that the user's settings deny (%s): %+v", name, mode, kind, got)
				}
			}
		}
	}
}

// ownRulesHold are the CLIs whose rules for single tools hold in each of their modes, by their own design.
var ownRulesHold = map[string]bool{"claude": true, "omp": true}

const modesIntro = `
## What is asked in which mode

For each mode, and for four kinds of settings of the user's own: what becomes of a command, and of a change of a file in the working
directory. *none*: the user has no settings about it. *looser*: they let every tool run. *narrower*: they ask about commands and deny
changes of files (Codex: its sandbox is only for reading). *patterns*: rules for single commands and files; one denies the file. Of a
mode and the user's settings the narrower one holds; in a mode that asks nobody, what the settings deny is refused. Claude Code's and
oh-my-pi's rules for single tools hold in each of their modes, also those that let a tool run. Codex's commands here are ones that ask to
leave its sandbox. A mode that is not shown is another name of one that is. The cells were recorded with the real CLIs:

    go test -tags e2e ./cmd/internal/stories -run TestModes -modes all -timeout 0
`

// generic is the runtime of a CLI that we do not know.
func generic() *runtimes.Runtime {
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
		if rt.Can.Exit == "" || len(rt.Can.Ways) == 0 || rt.Build == nil || rt.ReadScreen == nil || rt.ReadLine == nil || rt.Clean == nil {
			t.Errorf("%s lacks a part that every runtime has", rt.Name)
		}
	}
}
