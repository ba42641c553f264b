package runtimes

import (
	"strings"
	"testing"
)

func TestEcho(t *testing.T) {
	t.Parallel()
	const text = "[handoff_a_b_1_c0ffee] understudy: write the document to /data/x.md, then stop"
	wrapped := "│ > [handoff_a_b_1_c0ffee] understudy: write the │\n│   document to /data/x.md, then stop            │\n╰────╯\n? for help"
	for name, tt := range map[string]struct {
		screen string
		times  int
		row    string
	}{
		"nothing":        {"$ ", 0, ""},
		"one row":        {"> " + text + "\nfooter", 1, "> " + text},
		"a box":          {wrapped, 1, "│   document to /data/x.md, then stop            │"},
		"only its end":   {"… the document to /data/x.md, then stop\n", 0, ""},
		"a long end":     {"…doc write the document to /data/x.md, then stop", 0, ""},
		"the end, whole": {"…" + text[20:], 1, "…" + text[20:]},
		"twice":          {text + "\n" + text, 2, text},
		"its beginning":  {text[:60], 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			times, row := Echo(tt.screen, text)
			if times != tt.times || strings.TrimSpace(row) != strings.TrimSpace(tt.row) {
				t.Errorf("%d times, in %q; want %d, %q", times, row, tt.times, tt.row)
			}
		})
	}
	if times, _ := Echo("anything", " "); times != 0 {
		t.Error("a blank text was seen")
	}
	if times, row := Echo("say: hi", "hi"); times != 1 || row != "say: hi" {
		t.Errorf("a short text: %d, %q", times, row)
	}
}
