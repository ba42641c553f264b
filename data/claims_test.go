package data

import (
	"strings"
	"testing"
	"time"
)

// done returns the claims of a text under What Was Done, each as "path" or "path=change".
func done(text string) []string {
	var all []string
	for _, c := range Claims(Structured{WhatWasDone: &text}) {
		if c.Change != "" {
			c.Path += "=" + c.Change
		}
		all = append(all, c.Path)
	}
	return all
}

func TestClaimedFiles(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"see main.go, README.md; (docs/a.md) \"x.yaml\" and 'y.json'.":        "main.go README.md docs/a.md x.yaml y.json",
		"`main.go:12`, main.go:12:5, a.go#L3-L9, b.go:Parse, `c.go`.":         "main.go a.go b.go c.go",
		"./a.go a.go ../b.go ~/c.txt /etc/d.conf ./e.weird":                   "a.go ../b.go ~/c.txt /etc/d.conf e.weird",
		"Makefile, Dockerfile, Justfile, go.mod, .gitignore, .golangci.yml":   "Makefile Dockerfile Justfile go.mod .gitignore .golangci.yml",
		"the makefile and the LICENSE, but `LICENSE`":                         "LICENSE",
		"[the page](docs/a.md#x), [b](https://e.org/b.md), [c](./c.md \"t\")": "docs/a.md c.md",
		"[x] [y](z.go)": "z.go",
		"**a.go** _b.go_ *c.go* __d.go__ __init__.py **see e.go**":                  "a.go b.go c.go d.go __init__.py e.go",
		"https://e.org/a.go http://x/b.md <https://x/c.go> www.e.org/x.html":        "",
		"a@b.md me@example.com git@github.com:a/b.md github.com/a/b.go":             "",
		"v1.2.3 3.5 1.26.md5 go1.26 gopkg.in/yaml.v3 foo@1.2.3/a.js":                "",
		"e.g. i.e. etc. U.S. a.m. x.h vs. A.B":                                      "",
		"example.com node.js Next.js docs.rs console.log process.env m.lock":        "",
		"fmt.Println os.Exit `yaml.Node` net/http.Client template.HTML s.Go":        "",
		"response.json() foo.py() strings.c(x)":                                     "",
		"*.go **/*.go src/*.ts a?.go {a,b}.go <name>.md $HOME/a.sh data/{x}.md":     "",
		"`go test ./...` `cat a.go b.go` `go vet ./a.go -x`":                        "",
		"and/or w/o data/ internal/x ./... .../a.go a.go/b.go --config=a.yml -f.go": "",
		"```\na.go\n```\nb.go\n~~~\nc.go\n~~~":                                      "b.go",
		"docs/app.log a/.env b/x.service README.MD doc.TXT":                         "docs/app.log a/.env b/x.service README.MD",
		"`app/[id]/page.tsx` app/[x].go":                                            "app/[id]/page.tsx",
		"a.go,b.go|c.go—d.go":                                                       "a.go b.go c.go d.go",
		"| a.go | b |\n| c.md | d |":                                                "a.go c.md",
		"`` a.go `` ``` b.go":                                                       "a.go b.go",
		"Änderung.md ok/日本.md":                                                      "Änderung.md ok/日本.md",
	} {
		equal(t, in+" names", strings.Join(done(in), " "), want)
	}
}

func TestClaimedChanges(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Fixed a.go.": "a.go=changed",
		"Updated `a.go`, b.go and the script c.sh":                       "a.go=changed b.go=changed c.sh=changed",
		"Added a test to a.go and created b.go":                          "a.go=changed b.go=changed",
		"Implemented the parser (data/a.go, with tests in data/b.go)":    "data/a.go=changed data/b.go",
		"Fixed some, e.g. a.go":                                          "a.go=changed",
		"Implemented the parser in data/a.go":                            "data/a.go=changed",
		"a.go and b.go were modified":                                    "a.go=changed b.go=changed",
		"- `a.go`: added the parser\n- b.go - edited":                    "a.go=changed b.go=changed",
		"Read a.go. Fixed b.go":                                          "a.go b.go=changed",
		"Fixed a.go as described in b.md":                                "a.go=changed b.md",
		"Updated a.go to use b.go":                                       "a.go=changed b.go",
		"Added tests for a.go":                                           "a.go",
		"Added tests for a.go in b.go":                                   "a.go b.go=changed",
		"Deleted a.go and b.go":                                          "a.go=deleted b.go=deleted",
		"a.go was removed":                                               "a.go=deleted",
		"a.go removed, since it is dead":                                 "a.go=deleted",
		"a.go: removed `parse`":                                          "a.go=changed",
		"Removed the parser from a.go":                                   "a.go=changed",
		"Removed dead code in a.go":                                      "a.go=changed",
		"Created a.go and removed b.go":                                  "a.go=changed b.go=deleted",
		"Did not change a.go. Have not fixed b.go yet":                   "a.go=planned b.go=planned",
		"Should be added: a.go. c.go will be updated. Didn't edit d.go":  "a.go=planned c.go=planned d.go=planned",
		"Renamed a.go to b.go":                                           "a.go=planned b.go=planned",
		"Files modified:\n- a.go\n- `b.go`: like c.go\n\nSee also d.go":  "a.go=changed b.go=changed c.go d.go",
		"**Files changed:**\n\n1. a.go\n2. b.go (not finished)\n3. c.go": "a.go=changed b.go=planned c.go=changed",
		"- Deleted:\n  - a.go\n- Created:\n  - b.go\n- c.go":             "a.go=deleted b.go=changed c.go",
		"Files added or removed:\n- a.go":                                "a.go",
		"Files not modified:\n- a.go":                                    "a.go",
		"Files modified: a.go, b.go":                                     "a.go=changed b.go=changed",
		"Created a.go. Later work: deleted b.go":                         "a.go=changed b.go=planned",
		"See a.go. Fixed a.go":                                           "a.go=changed",
		"Created a.go.\nDeleted a.go.":                                   "a.go=deleted",
		"| a.go | modified |\n| b.go | deleted |":                        "a.go=changed b.go=deleted",
	} {
		equal(t, in+" claims", strings.Join(done(in), " "), want)
	}
}

func TestClaimsOfFields(t *testing.T) {
	t.Parallel()
	a, b, c, d := "Fixed x.go", "Deleted y.go and x.go", "Added z.go?", "fixed w.go"
	want := []Claim{
		{"x.go", "what_was_done", "changed"}, {"y.go", "decisions_made", ""}, {"z.go", "open_questions", ""}, {"w.go", "next_agent_context", ""},
	}
	equal(t, "Claims(Structured{&a, &b, &c, &d})", Claims(Structured{&a, &b, &c, &d}), want)
	// A file that is yet to be made is planned, unless an earlier mention says that it exists.
	a, d = "Fixed x.go. Did not write u.go", "Write v.go. Then read w.go, and add a test to x.go"
	want = []Claim{{"x.go", "what_was_done", "changed"}, {"u.go", "what_was_done", "planned"}, {"v.go", "next_agent_context", "planned"}, {"w.go", "next_agent_context", "planned"}}
	equal(t, "Claims(Structured{WhatWasDone: &a, NextAgentContext: &d})", Claims(Structured{WhatWasDone: &a, NextAgentContext: &d}), want)
	equal(t, "claims of nothing", len(Claims(Structured{})), 0)
}

// TestClaimsAreQuick: the search takes time linear in the length of the text. A linear one takes some milliseconds for
// 32 KB, a quadratic one half a second. On a busy machine the test compares with a text of an eighth of the length: a
// linear search takes eight times as long, a quadratic one 64 times.
func TestClaimsAreQuick(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"a.go ", "`", "[", "`a", "[a](", "- a.go\n", "fixed ", "a.go\n", "```a\n", "*", "a/", "a.", "(", "  - x:\n", "__a", "|", "Fixed:\n"} {
		search := func(length int) time.Duration {
			text := strings.Repeat(part, length/len(part))
			started := time.Now()
			Claims(Structured{WhatWasDone: &text})
			ParseDecisions(text, "", time.Time{})
			return time.Since(started)
		}
		quick := false
		for range 10 { // even a busy machine is rarely busy at all ten measurements
			short, took := search(1<<12), search(1<<15)
			quick = took < 150*time.Millisecond || took < 24*short
			if quick {
				break
			}
		}
		if !quick {
			t.Errorf("%q takes more than 24 times as long as an eighth of it", part)
		}
	}
}

func FuzzClaims(f *testing.F) {
	for _, seed := range []string{"Fixed `a.go`:12, [b](c.md)", "Files modified:\n- a.go\n  - b.go", "| a.go |", "``` `` ` a.go", "\xff.go *.go __init__.py", "a.go: removed"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		seen := map[string]bool{}
		for _, c := range Claims(Structured{WhatWasDone: &text}) {
			if c.Path == "" || seen[c.Path] || strings.ContainsAny(c.Path, "\n\x00*?") || !strings.Contains(text, c.Path) {
				t.Fatalf("%q of %q", c.Path, text)
			}
			seen[c.Path] = true
		}
	})
}
