package main

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                 "plain",
		"--help":                "help",
		"a\nb\tc":               "a b c",
		"\x1b]0;x\x07":          "]0;x",
		"bad \xff":              "bad \uFFFD",
		"<b>&":                  "<b>&",
		"\u202eevil\u2066":      "evil",
		strings.Repeat("x", 41): strings.Repeat("x", 39) + "…",
		strings.Repeat("x", 40) + " `understudy top`.":                           strings.Repeat("x", 21) + "… `understudy top`.",
		"Do ‹`understudy evil` " + strings.Repeat("x", 40) + "›":                 "Do ‹`understudy evil` xxxxxxxxxxxxxxxxx…",
		strings.Repeat("x", 9) + ": `understudy first one`, `understudy agent`.": "xxxxxxxxx: `underst… `understudy agent`.",
		"`understudy " + strings.Repeat("x", 40) + "`":                           "`understudy " + strings.Repeat("x", 27) + "…",
	} {
		if got := clean(in, 40); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}
