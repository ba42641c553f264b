package sgr

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ntext":                             "plain\ntext",
		"\x1b[1;31mx\x1b[0my":                     "\x1b[0;1;31mx\x1b[0my",
		"\x1b[5mx":                                "x", // nothing blinks
		"\x1b[44mx\ny":                            "\x1b[0;44mx\x1b[0m\n\x1b[0;44my\x1b[0m",
		"\x1b[38;5;200;48;2;1;2;255mx":            "\x1b[0;38;5;200;48;2;1;2;255mx\x1b[0m",
		"\x1b[97;100mx":                           "\x1b[0;97;100mx\x1b[0m",
		"\x1b[2J\x1b]0;owned\x07\x1b[?1049hx":     "x",
		"\x1b]52;c;ZXZpbA==\x07\x1bP+q\x1b\\x":    "x",
		"a\x00\x07\r\u009b31m\u202e\u200bb\u2066": "a31mb",
		"\x0elqk\x0f":                             "┌─┐",
	} {
		wardentest.Equal(t, in, Clean(in), want)
	}
}

// FuzzClean: whatever an agent prints, only colours are left, and a pane that has been cleaned shows the same as before.
func FuzzClean(f *testing.F) {
	for _, in := range []string{"x", "\x1b[1;38;5;9mx\ny", "\x1b]8;;http://x\x1b\\l", "\x1b[48:2::1:2:3mx\x1b[4:3m\x1b[53m\u009b", "\x0elq\x1b(B"} {
		f.Add(in)
	}
	only := regexp.MustCompile("\x1b\\[[0-9;]*m")
	f.Fuzz(func(t *testing.T, in string) {
		out := Clean(in)
		if bare := only.ReplaceAllString(out, ""); strings.ContainsFunc(bare, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Fatalf("%q is left of %q", bare, in)
		}
		if a, b := shown(in), shown(out); !slices.Equal(a, b) {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

type character struct {
	rune
	Style
}

func shown(screen string) (all []character) {
	Each(screen, func(r rune, s Style) {
		s.Attributes &^= Blink
		if r == '\n' {
			s = Style{}
		}
		if !hides(r) {
			all = append(all, character{r, s})
		}
	})
	return all
}
