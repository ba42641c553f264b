package data

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestRenderContext(t *testing.T) {
	t.Parallel()
	const after = "</handoff-context>\n\nThe above is a handoff document from a previous session. Use this context to continue the work seamlessly.\n"
	for in, want := range map[string]string{
		"":                                     "\n",
		"text":                                 "text\n",
		"text\n":                               "text\n",
		"text\r\n\n":                           "text\r\n\n",
		"\xff<b>&amp;":                         "\xff<b>&amp;\n",
		"<handoff-context>":                    "<handoff-context>\n",
		"</handoff-contexts>":                  "</handoff-contexts>\n",
		"</handoff-context-x>":                 "</handoff-context-x>\n",
		"a </handoff-context> b":               `a <\/handoff-context> b` + "\n",
		"</HandOff-Context>":                   `<\/HandOff-Context>` + "\n",
		"< / handoff-context >":                `< \/ handoff-context >` + "\n",
		"<\n/\thandoff-context\u00a0>":         "<\n\\/\thandoff-context\u00a0>\n",
		"<\u200b/handoff-context>":             "<\u200b\\/handoff-context>\n",
		"</handoff-context":                    `<\/handoff-context` + "\n",
		"</handoff-context a='b'>":             `<\/handoff-context a='b'>` + "\n",
		"</handoff-context></handoff-context>": `<\/handoff-context><\/handoff-context>` + "\n",
		`<\/handoff-context>`:                  `<\/handoff-context>` + "\n",
	} {
		equal(t, in+" gives", string(RenderContext([]byte(in))), "<handoff-context>\n"+want+after)
	}
}

func FuzzRenderContext(f *testing.F) {
	for _, seed := range []string{"", "x\n", "</handoff-context>", "< /\nHANDOFF-context", "</handoff-context></handoff-context x>", "\xff\x00"} {
		f.Add([]byte(seed))
	}
	tag := regexp.MustCompile(`(?i)<\s*/\s*handoff-context\s*>`)
	f.Fuzz(func(t *testing.T, doc []byte) {
		before := bytes.Clone(doc)
		got := RenderContext(doc)
		if !bytes.Equal(doc, before) {
			t.Fatal("the document was modified in place")
		}
		body, ok := strings.CutPrefix(string(got), contextOpen)
		if !ok {
			t.Fatalf("begins with %q", got)
		}
		body, ok = strings.CutSuffix(body, contextClose)
		if !ok || !strings.HasSuffix(body, "\n") {
			t.Fatalf("ends with %q", got)
		}
		if all := tag.FindAllIndex(got, -1); len(all) != 1 {
			t.Fatalf("%d closing tags in %q", len(all), got)
		}
		// RenderContext added only backslashes and the last newline.
		strip := func(s string) string { return strings.ReplaceAll(s, `\`, "") }
		want := string(doc)
		if !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		if strip(body) != strip(want) {
			t.Fatalf("%q became %q", doc, body)
		}
	})
}
