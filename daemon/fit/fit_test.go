package fit_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"

	"github.com/understudyd/understudy/daemon/fit"
)

func TestWidth(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		"": 0, "abc": 3, "日本語": 6, "각": 2, "🚀": 2, "e\u0301": 1, "\u0301": 0, "…": 1, "─": 1, "\x1b[31mred\x1b[0m": 3, "नमस्ते": 4,
	} {
		equal(t, fmt.Sprintf("columns of %q", in), fit.Width(in), want)
	}
}

func TestCutAndFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in      string
		columns int
		cut     string
		fold    string
	}{
		{"abc", 3, "abc", "abc"}, {"abcd", 3, "ab…", "abc|d"}, {"日本語", 6, "日本語", "日本語"}, {"日本語", 5, "日本…", "日本|語"},
		{"日本語", 4, "日…", "日本|語"}, {"ab cd", 4, "ab…", "ab|cd"}, {"a  bc def", 4, "a…", "a bc|def"}, {"x", 0, "", "x"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…", "e\u0301e\u0301|e\u0301"},
	} {
		equal(t, fmt.Sprint("Cut(", c.in, ", ", c.columns, ")"), fit.Cut(c.in, c.columns), c.cut)
		equal(t, fmt.Sprint("FoldWithin(", c.in, ", ", c.columns, ")"), strings.Join(fit.FoldWithin(c.in, c.columns), "|"), c.fold)
	}
	got := fit.Fold("read  both, then go on with /a/very/long/path at once", 12)
	equal(t, "got", got, []string{"read both,", "then go on", "with", "/a/very/long/path", "at once"})
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"/a/b", fit.Path("/a/b", 4)}, {"…/b", fit.Path("/aa/b", 4)}, {"…/shop/api", fit.Path("/srv/ann/src/shop/api", 12)}, {"…long-name", fit.Path("/a-very-long-name", 10)}, {"", fit.Path("/a", 0)},
		{"…/shop main", fit.Where("~/src/shop main", 12)}, {"…/shop feature/…", fit.Where("~/src/shop feature/checkout-flow", 18)}, {"…/fix", fit.Where("/trees/fix", 6)},
		{"…本語", fit.Path("日本語", 5)}, {"…語", fit.Path("日本語", 4)}, {"…本 主要…", fit.Where("/srv/日本 主要分支", 10)},
	} {
		equal(t, "c[0]", c[0], c[1])
	}
}

// Whatever a text holds, it keeps within the columns that it is given.
func TestNothingIsTooWide(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "bc", " ", "日", "각", "🚀", "e\u0301", "न", "स्ते", "/", "க்ஷி", "กำ"}
	for range 5000 {
		var b strings.Builder
		for range draw.IntN(30) {
			b.WriteString(pieces[draw.IntN(len(pieces))])
		}
		in, columns := b.String(), 4+draw.IntN(20)
		if got := fit.Pad(in, columns); fit.Width(got) != columns {
			t.Errorf("Pad(%q, %d) = %q takes %d", in, columns, got, fit.Width(got))
		}
		for _, got := range append(fit.FoldWithin(in, columns), fit.Head(in, columns), fit.Path(in, columns), fit.Where(in, columns)) {
			if fit.Width(got) > columns {
				t.Errorf("%q of %q takes %d columns, not %d", got, in, fit.Width(got), columns)
			}
		}
		if got := strings.Join(fit.FoldWithin(in, columns), ""); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(in, " ", "") {
			t.Errorf("FoldWithin(%q, %d) loses text: %q", in, columns, got)
		}
	}
}

var equal = wardentest.Equal
