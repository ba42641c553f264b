package words_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"

	"github.com/understudyd/understudy/daemon/words"
)

func dropJoiners(r rune) rune {
	if r == '\u200c' || r == '\u200d' {
		return -1
	}
	return r
}

// TestHostileText: a text of a stranger keeps its meaning and commands nothing, for each target.
func TestHostileText(t *testing.T) {
	t.Parallel()
	notification := func(s string) string { return words.Notification(s, 300) }
	for _, c := range []struct {
		about, in                                string
		line, text, page, terminal, notification string
	}{
		{"nothing strange", "Grüße, 日本 and 🙂", "=", "=", "=", "=", "="},
		{"nothing", "", "=", "=", "=", "=", "="},
		{"escape sequences", "a\x1b[2Jb\x1b]0;x\ac", "a[2Jb]0;xc", "a[2Jb]0;xc", "a\uFFFD[2Jb\uFFFD]0;x\uFFFDc", "a[2Jb]0;xc", "a[2Jb]0;xc"},
		{"C1, DEL and NUL", "a\u009b2Jb\x7fc\x00d", "a2Jbcd", "a2Jbcd", "a\uFFFD2Jb\uFFFDc\uFFFDd", "a2Jbcd", "a2Jbcd"},
		{"line breaks", "a\r\nb\rc\n\nd\u2028e", "a b c d e", "a\nb\nc\n\nd\ne", "a\nbc\n\nd\u2028e", "a bc  d e", "a b c d e"},
		{"blanks", "  a \t b\u00a0", "a b", "=", "=", "  a   b ", "a b"},
		{"bytes that are no text", "a\xffb", "a\uFFFDb", "a\uFFFDb", "a\uFFFDb", "a\uFFFDb", "a\uFFFDb"},
		{"directions", "\u202eevil\u2066\u061c", "evil", "evil", "\uFFFDevil\uFFFD\uFFFD", "evil", "evil"},
		{"no width", "\ufeffa\u200bb\u00adc", "abc", "abc", "\uFFFDa\uFFFDb\uFFFDc", "abc", "abc"},
		{"tags that only a model reads", "a\U000E0041\U000E0042", "a", "a", "a\uFFFD\uFFFD", "a", "a"},
		{"joiners", "می\u200cروم 👨\u200d👩", "=", "=", "=", "میروم 👨👩", "="},
		{"what terminals draw in several widths", "🇩🇪 ❤\ufe0f 👍🏽 \ue0b0", "=", "=", "=", "DE ❤ 👍 ", "="},
		{"accents that spill over lines", "e\u0301\u0301\u0301\u0301", "=", "=", "=", "e\u0301\u0301", "="},
		{"an option", "--help", "=", "=", "=", "=", "help"},
		{"markup", "<b>&", "=", "=", "=", "=", "‹b›＆"},
	} {
		asJSON := words.JSON([]byte("[\n" + strings.NewReplacer("\u007f", "\x7f", `\u2028`, "\u2028").Replace(string(wardentest.Value(json.Marshal(c.in))(t))) + "]"))
		var read []string
		if err := json.Unmarshal(asJSON, &read); err != nil || read[0] != strings.ToValidUTF8(c.in, "\uFFFD") {
			t.Errorf("%s as JSON: %s, read as %q (%v)", c.about, asJSON, read, err)
		}
		for what, text := range map[string]string{"JSON": string(asJSON), "screen": strings.Map(dropJoiners, words.Screen(c.in))} {
			if strings.ContainsAny(text, "\x1b\x7f\u009b\u061c\u2066\u202e\u200b\u00ad\ufeff\U000E0041") || what == "JSON" && strings.Contains(text, "\u2028") {
				t.Errorf("%s as %s: %q", c.about, what, text)
			}
		}
		for target, want := range map[string]struct {
			clean func(string) string
			text  string
		}{
			"line": {words.Line, c.line}, "text": {words.Text, c.text}, "page": {words.Page, c.page},
			"terminal": {words.Terminal, c.terminal}, "notification": {notification, c.notification},
		} {
			if want.text == "=" {
				want.text = c.in
			}
			got := want.clean(c.in)
			equal(t, c.about+" for a "+target, got, want.text)
			equal(t, fmt.Sprintf("%s for a %s, done again", c.about, target), want.clean(got), got)
		}
	}
}

func TestNotificationKeepsItsCommand(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		strings.Repeat("x", 40):                                                  "=",
		strings.Repeat("x", 41):                                                  strings.Repeat("x", 39) + "…",
		strings.Repeat("x", 40) + " `understudy top`.":                           strings.Repeat("x", 21) + "… `understudy top`.",
		"Do ‹`understudy evil` " + strings.Repeat("x", 40) + "›":                 "Do ‹`understudy evil` xxxxxxxxxxxxxxxxx…",
		strings.Repeat("x", 9) + ": `understudy first one`, `understudy agent`.": "xxxxxxxxx: `underst… `understudy agent`.",
		"`understudy " + strings.Repeat("x", 40) + "`":                           "`understudy " + strings.Repeat("x", 27) + "…",
	} {
		if want == "=" {
			want = in
		}
		equal(t, in, words.Notification(in, 40), want)
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 2, "日…"}, {"ab cd", 4, "ab…"}, {"ab", 1, "…"}} {
		equal(t, fmt.Sprint("Clip(", c.in, ", ", c.limit, ")"), words.Clip(c.in, c.limit), c.want)
	}
	equal(t, "first line", words.FirstLine("\n one two \nthree", 6), "one t…")
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, c := range [][2]string{
		{"0 s", words.Age(-time.Second)}, {"119 s", words.Age(2*time.Minute - 1)}, {"2 min", words.Age(2 * time.Minute)}, {"119 min", words.Age(2*time.Hour - 1)},
		{"2 h", words.Age(2 * time.Hour)}, {"47 h", words.Age(48*time.Hour - 1)}, {"2 days", words.Age(2 * day)}, {"106751 days", words.Age(1<<63 - 1)},
		{"now", words.Ago(time.Now())}, {"9 min ago", words.Ago(time.Now().Add(-9*time.Minute - time.Second))}, {"2020-02-29", words.Ago(time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC))},
		{"0.00 s", words.Took(-1)}, {"83.40 s", words.Took(83400 * time.Millisecond)}, {"1 min 24 s", words.Total(83600 * time.Millisecond)}, {"0 s", words.Total(-1)}, {"3 min 5 s", words.Took(3*time.Minute + 5400*time.Millisecond)},
		{"4 min", words.Took(4*time.Minute - time.Millisecond)}, {"49 h 2 min", words.Took(2*day + time.Hour + 100*time.Second)},
		{"0 s", words.Span(0)}, {"0.5 s", words.Span(time.Second / 2)}, {"15 min", words.Span(15 * time.Minute)}, {"1 h 30 s", words.Span(time.Hour + 30*time.Second)},
		{"999", words.Tokens(999)}, {"86k", words.Tokens(86_000)}, {"755k", words.Tokens(755_010)}, {"1M", words.Tokens(999_500)}, {"1.5M", words.Tokens(1_500_000)},
		{"76 %", words.Percent(75.5)}, {"1 byte", words.Size(1)}, {"999 bytes", words.Size(999)}, {"1.2 kB", words.Size(1200)}, {"1.0 MB", words.Size(999_950)},
		{"", words.Spark(nil)}, {"▁▁▅██", words.Spark([]float64{-1, 0, 0.5, 1, 7})},
		{"1 step", words.Count(1, "step")}, {"0 steps", words.Count(int64(0), "step")}, {"", words.Stamp(time.Time{})},
	} {
		equal(t, "c[1]", c[1], c[0])
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"awaiting document", words.Of("awaiting_document")}, {"Über", words.Capital("über")}, {"", words.Capital("")}, {"It is so", words.TrimDot("It is so.")},
		{"a: b", words.Join(": ", "a", "", "b")}, {"a, b and 3 more", words.List([]string{"a", "b"}, 5)}, {"a", words.List([]string{"a"}, 1)},
	} {
		equal(t, "c[1]", c[1], c[0])
	}
}

var equal = wardentest.Equal
