package data

import (
	"encoding/json"
	"strings"
	"testing"
)

// texts returns the fields of s, "-" for nil.
func texts(s Structured) string {
	var all []string
	for _, f := range s.fields() {
		if *f.value == nil {
			all = append(all, "-")
		} else {
			all = append(all, **f.value)
		}
	}
	return strings.Join(all, "|")
}

func TestExtract(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"blank", " \n\t\r\n", ""},
		{"no heading", "What was done\nmuch", ""},
		{"all", "# What Was Done\na\n## Decisions Made\nb\n### Open Questions\nc\n#### Next Agent Context\nd\n", "a|b|c|d"},
		{"other order", "# Next agent context\nd\n# What was done\na", "a|-|-|d"},
		{"text before", "intro\n\n# What was done\na", "a|-|-|-"},
		{"spelling", "#WHAT_was-done?!\na\n##  **Decisions** `made`: ##\nb", "a|b|-|-"},
		{"more in the heading", "# What was done today\na", ""},
		{"numbered and bold", "### 1. **What Was Done**\na\n### 2. **Decisions Made**\nb\n### 3. **Open Questions**\nc\n### 4. **Next Agent Context**\nd", "a|b|c|d"},
		{"in the heading's line", "# What was done: a\nb\n# Open questions: none", "a\nb|-|none|-"},
		{"bold labels", "**What was done**\n\na\n\n**Decisions made:**\n- b\n\n**Note:** x\n\n**Open questions:** c\n", "a|- b|c|-"},
		{"bold words do not end", "# What was done\na\n**Note:** b\n\n**Careful**\nc", "a\n**Note:** b\n\n**Careful**\nc|-|-|-"},
		{"underlined", "What Was Done\n=============\na\n\nNotes\n=====\nx\n\nOpen Questions\n--------------\nc", "a|-|c|-"},
		{"a rule across the page", "# What was done\nAll of it is done.\n---\nb", "All of it is done.\n---\nb|-|-|-"},
		{"emoji", "## ✅ What Was Done\na\n## ❓ Open Questions (2)\nc", "a|-|c|-"},
		{"items of a list", "- **What was done:** a\n- **Open questions:** c", "a|-|c|-"},
		{"an accent in two forms", "# What was done\u0301\na", ""},
		{"letters of others count", "# What was doné\na", ""},
		{"any heading ends", "# What was done\na\n#foo\nb\n", "a|-|-|-"},
		{"more than six", "####### What was done\na", "a|-|-|-"},
		{"an indented one is none", "# What was done\na\n # b", "a\n # b|-|-|-"},
		{"trimmed", "# What was done\n\n\n  a\n b  \n\n", "a\n b|-|-|-"},
		{"empty", "# What was done\n\n# Decisions made\n \n", ""},
		{"one empty", "# What was done\n# Decisions made\nb", "-|b|-|-"},
		{"at the end", "# Decisions made\nb\n# What was done", "-|b|-|-"},
		{"the first wins", "# What was done\na\n# What was done\nb", "a|-|-|-"},
		{"the first wins though empty", "# What was done\n# What was done\nb\n# Open questions\nc", "-|-|c|-"},
		{"CRLF", "# What was done\r\na\r\nb\r\n\r\n# Open questions\r\nc", "a\nb|-|c|-"},
		{"CR", "# What was done\ra\r# Open questions\rc", "a|-|c|-"},
		{"byte order mark", "\ufeff# What was done\na", "a|-|-|-"},
		{"code hides", "# What was done\na\n```sh\n# Open questions\n```\nb", "a\n```sh\n# Open questions\n```\nb|-|-|-"},
		{"tildes hide", "# What was done\n~~~ `x`\n# b\n~~~~  \nc", "~~~ `x`\n# b\n~~~~  \nc|-|-|-"},
		{"shorter does not close", "# What was done\n````\n```\n# Open questions\n````\n# Decisions made\nb", "````\n```\n# Open questions\n````|b|-|-"},
		{"other does not close", "# What was done\na\n```\n~~~\n# Open questions\n```", "a\n```\n~~~\n# Open questions\n```|-|-|-"},
		{"language does not close", "# What was done\na\n```\n# Open questions\n```go\n```", "a\n```\n# Open questions\n```go\n```|-|-|-"},
		{"language does not close inside", "# What was done\na\n```\n```go\n# Open questions\n```", "a\n```\n```go\n# Open questions\n```|-|-|-"},
		{"around all with code never closed", "```md\n```go\n# What was done\na\n```", "a|-|-|-"},
		{"indented by three", "# What was done\na\n   ```\n# b\n   ```", "a\n   ```\n# b\n   ```|-|-|-"},
		{"indented by four", "# What was done\na\n    ```\n# Open questions\n    ```\nb", "a\n    ```|-|```\nb|-"},
		{"code in a line", "# What was done\n```a``` b\n# Open questions\nc\n```", "```a``` b|-|c\n```|-"},
		{"never closed", "# What was done\na\n```\n# Open questions\nc", "a\n```|-|c|-"},
		{"never closed before code", "```\n# What was done\na\n~~~\n# Open questions\n~~~", "a\n~~~\n# Open questions\n~~~|-|-|-"},
		{"around all", "\n```markdown\n# What was done\na\n# Open questions\nc\n```\n\n", "a|-|c|-"},
		{"around all, tildes", "~~~\n# What was done\na\n~~~", "a|-|-|-"},
		{"around all with code", "````md\n# What was done\na\n```\n# Open questions\n```\n````", "a\n```\n# Open questions\n```|-|-|-"},
		{"around all with code of the same length", "```md\n# What was done\na\n```sh\n# b\n```\n# Open questions\nc\n```", "a\n```sh\n# b\n```|-|c|-"},
		{"code at both ends", "```\n# What was done\n```\n# Open questions\nc\n```\n# d\n```", "-|-|c\n```\n# d\n```|-"},
		{"one around a part", "# What was done\na\n```\n# b\n```\n", "a\n```\n# b\n```|-|-|-"},
	} {
		got, ok := Extract(test.in)
		if ok != (test.want != "") || ok && texts(got) != test.want {
			t.Errorf("%s: %q gives %q, %v; want %q", test.name, test.in, texts(got), ok, test.want)
		}
		if !ok && got != (Structured{}) {
			t.Errorf("%s: nothing found, yet there is %q", test.name, texts(got))
		}
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	a, b, c, d, blank := "a\n- a", "- b", "c", "d", " \n"
	for _, test := range []struct {
		name, agent string
		s           Structured
		want        string
	}{
		{"all", "con-1", Structured{&a, &b, &c, &d}, `## Handoff from previous step (con-1)

**What was done**: a
- a

**Decisions made**:
- b

**Open questions**:
c

**Your task**: d`},
		{"nobody", "", Structured{WhatWasDone: &c}, "## Handoff from previous step\n\n**What was done**: c"},
		{"some", "x", Structured{&blank, nil, &c, &d}, "## Handoff from previous step (x)\n\n**Open questions**:\nc\n\n**Your task**: d"},
		{"nothing", "x", Structured{}, "## Handoff from previous step (x)"},
	} {
		equal(t, test.name, test.s.Header(test.agent), test.want)
		equal(t, test.name+": empty is", test.s.Empty(), test.name == "nothing")
	}
	if !(Structured{DecisionsMade: &blank}).Empty() {
		t.Error("a blank field counts")
	}
}

func TestStructuredJSON(t *testing.T) {
	t.Parallel()
	s, _ := Extract("# Open questions\nc")
	equal(t, "as JSON", string(value(json.Marshal(s))(t)), `{"what_was_done":null,"decisions_made":null,"open_questions":"c","next_agent_context":null}`)
}

func FuzzExtract(f *testing.F) {
	for _, seed := range []string{
		"", "# What was done\na", "```\n# What was done\r\na\n```", "~~~~\n~~~\n# Open questions\nx\n~~~~", "#\n##\n#Decisions Made#\n\xff",
		"```md\n# What was done\n```go\n```\n```", "# What was done\r\r\n\ufeff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		s, ok := Extract(doc)
		if again, _ := Extract(doc); texts(again) != texts(s) {
			t.Fatalf("%q and then %q", texts(s), texts(again))
		}
		if ok == s.Empty() {
			t.Fatalf("found %v, empty %v", ok, s.Empty())
		}
		for _, field := range s.fields() {
			if *field.value == nil {
				continue
			}
			if text := **field.value; text == "" || text != strings.TrimSpace(text) || !strings.Contains(unixLines(doc), text) {
				t.Fatalf("%s is %q", field.name, text)
			}
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("a", "- b\n- c", "", "d")
	f.Add("a\n\n #b", "~~", "`code`", "1. d\r\n2. e")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		in := []string{a, b, c, d}
		var doc strings.Builder
		for i, title := range []string{"What Was Done", "Decisions Made", "Open Questions", "Next Agent Context"} {
			in[i] = strings.TrimSpace(unixLines(in[i]))
			if strings.Contains("\n"+in[i], "\n#") || strings.Contains(in[i], "```") || strings.Contains(in[i], "~~~") {
				return
			}
			doc.WriteString("# " + title + "\n\n" + in[i] + "\n\n")
			if in[i] == "" {
				in[i] = "-"
			}
		}
		s, ok := Extract(doc.String())
		if got, want := texts(s), strings.Join(in, "|"); got != want {
			t.Fatalf("%q gives %q, %v", want, got, ok)
		}
	})
}
