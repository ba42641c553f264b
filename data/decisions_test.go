package data

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestParseDecisions(t *testing.T) {
	t.Parallel()
	type d = [3]string // summary, rationale, artifacts joined by blanks
	for _, test := range []struct {
		name, in string
		want     []d
	}{
		{"nothing", " \n", nil},
		{"none", "None.", nil},
		{"none in a list", "- n/a\n- **None**\n-\n- nothing", nil},
		{"dash", "-", nil},
		{"list", "- a\n* b\n+ c\n1. d\n2) e", []d{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}},
		{"no list", "We chose **A** because it is small.", []d{{"We chose A", "it is small."}}},
		{"bold at the start is no list", "**A**: since b", []d{{"A", "since b"}}},
		{"text before the list", "We decided:\n\n- a", []d{{"a"}}},
		{"because of", "- Use A because of B", []d{{"Use A", "because of B"}}},
		{"dash between", "- Use A — it is small. And fast.", []d{{"Use A", "it is small. And fast."}}},
		{"hyphen between", "- Use A - it is small", []d{{"Use A", "it is small"}}},
		{"colon after bold", "- **Use `a: b`:** it is small", []d{{"Use `a: b`", "it is small"}}},
		{"sentences", "- Use A. It is small, e.g. in bytes.", []d{{"Use A", "It is small, e.g. in bytes."}}},
		{"an abbreviation is no end", "- Use A, e.g. B", []d{{"Use A, e.g. B"}}},
		{"no cut in parentheses", "- Use A (why: b) for c", []d{{"Use A (why: b) for c"}}},
		{"a URL is no cut", "- Use http://a.b:80/c", []d{{"Use http://a.b:80/c"}}},
		{"label", "- Decision 2: use A", []d{{"use A"}}},
		{"bold label", "- **Decision:** use A", []d{{"use A"}}},
		{"nested", "- Use A\n  - it is small\n  - it is fast\n- Use B", []d{{"Use A", "- it is small\n- it is fast"}, {"Use B"}}},
		{"nested rationale", "1. Use A\n  - **Rationale**: small\n2. Use B\n   Why: fast", []d{{"Use A", "small"}, {"Use B Why", "fast"}}},
		{"continuation", "- Use\n  A\n\n  It is small.\n- B", []d{{"Use A", "It is small."}, {"B"}}},
		{"loose", "- A\n\nBecause it is small.\n\n- B", []d{{"A", "Because it is small."}, {"B"}}},
		{"code is no list", "- A\n\n```\n- b\n```\n- C", []d{{"A", "```\n- b\n```"}, {"C"}}},
		{"a rule is no item", "- A\n\n- - -\n- B", []d{{"A", "- - -"}, {"B"}}},
		{"tasks", "- [x] A\n- [ ] B", []d{{"A"}, {"B"}}},
		{"files", "- Use `data/a.go` and b.md: see [c](docs/c.md), a.go\n  and data/a.go", []d{
			{"Use `data/a.go` and b.md", "see [c](docs/c.md), a.go and data/a.go", "data/a.go b.md docs/c.md a.go"}}},
		{"emphasis", "- *Use* __A__ in snake_case_name, `*x*` and __init__.py", []d{{"Use A in snake_case_name, `*x*` and __init__.py", "", "__init__.py"}}},
		{"CRLF", "- A\r\n- B\r\n", []d{{"A"}, {"B"}}},
	} {
		at := time.Unix(1, 0)
		var got []d
		for _, x := range ParseDecisions(test.in, "con-1", at) {
			got = append(got, d{x.Summary, x.Rationale, strings.Join(x.RelatedArtifacts, " ")})
			if x.Agent != "con-1" || !x.Timestamp.Equal(at) || x.RelatedArtifacts == nil {
				t.Errorf("%s: %+v", test.name, x)
			}
		}
		equal(t, test.name, got, test.want)
	}
}

func TestLongSummary(t *testing.T) {
	t.Parallel()
	for _, long := range []string{strings.Repeat("wörd ", 100), strings.Repeat("ö", 500)} {
		got := ParseDecisions("- "+long, "", time.Time{})[0]
		if n := utf8.RuneCountInString(got.Summary); n > maxSummary || n < maxSummary/2 || !strings.HasSuffix(got.Summary, "…") {
			t.Errorf("%d characters: %q", n, got.Summary)
		}
		whole := strings.TrimSuffix(got.Summary, "…") + strings.TrimPrefix(got.Rationale, "…")
		equal(t, "something was lost: "+got.Summary+" and "+got.Rationale, strings.ReplaceAll(whole, " ", ""), strings.ReplaceAll(long, " ", ""))
	}
}

func FuzzParseDecisions(f *testing.F) {
	for _, seed := range []string{"- a\n  - b", "1) **x**: `y`", "none", "- ```\n- a\n```", "*", "- \xff_a_*", "-\t[ ] a.go — b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, section string) {
		for _, d := range ParseDecisions(section, "a", time.Time{}) {
			if utf8.RuneCountInString(d.Summary) > maxSummary || strings.Contains(d.Summary, "\n") {
				t.Fatalf("summary %q", d.Summary)
			}
			if d.Summary+d.Rationale == "" {
				t.Fatalf("nothing of %q", section)
			}
		}
	})
}
