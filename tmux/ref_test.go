package tmux

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestFromEnv(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]Ref{
		"/tmp/tmux-0/default,12,0": {Socket: "/tmp/tmux-0/default", ServerPID: 12},
		"/tmp/a,b/s,12,34":         {Socket: "/tmp/a,b/s", ServerPID: 12},
		"":                         {}, "x": {}, ",,": {}, "rel,1,0": {}, "/s,0,0": {}, "/s,-1,0": {}, "/s,x,0": {}, "/s,1": {},
	} {
		socket, pid, ok := FromEnv(env)
		if got := (Ref{Socket: socket, ServerPID: pid}); got != want || ok != (want != Ref{}) {
			t.Errorf("FromEnv(%q) = %v, %v", env, got, ok)
		}
	}
}

func TestRefCheck(t *testing.T) {
	t.Parallel()
	want := Ref{Socket: "/a,b/s", ServerPID: 7, ServerStart: 1700000000, Pane: "%12"}
	must(t, want.Check())
	for name, spoil := range map[string]func(*Ref){
		"no socket":                 func(r *Ref) { r.Socket = "" },
		"a relative socket":         func(r *Ref) { r.Socket = "s" },
		"no process of the server":  func(r *Ref) { r.ServerPID = 0 },
		"no start of the server":    func(r *Ref) { r.ServerStart = 0 },
		"no pane":                   func(r *Ref) { r.Pane = "" },
		"a pane without its number": func(r *Ref) { r.Pane = "%" },
		"a pane that is a word":     func(r *Ref) { r.Pane = "%x" },
		"a padded pane":             func(r *Ref) { r.Pane = "%01" },
		"a command behind the pane": func(r *Ref) { r.Pane = "%1 ; kill-server" },
	} {
		ref := want
		spoil(&ref)
		if ref.Check() == nil {
			t.Errorf("%s: %v is accepted", name, ref)
		}
	}
}

func TestSanitize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "",
		"plain é 日本 👩‍👧\t\n":   "plain é 日本 👩‍👧\t\n",
		"a\r\nb\rc\n\rd\r\r\n": "a\nb\nc\n\nd\n\n",
		"a\x1b[201~b":          "a[201~b",
		"\x1b\x1b[201~[201~":   "[201~[201~",
		"\x00\x01\x08\x0b\x0c\x0e\x1f\x7f\u0080\u0085\u009b\u009f\u00a0": "\u00a0",
		"\xff\xc3(\xe2\x82":         "\uFFFD\uFFFD(\uFFFD\uFFFD",
		"\xc2\x1b\x9b":              "\uFFFD\uFFFD", // dropping ESC must not join the bytes around it
		"\xed\xa0\x80":              "\uFFFD\uFFFD\uFFFD",
		strings.Repeat("\x1b", 100): "",
	} {
		equal(t, "Sanitize("+text+")", Sanitize(text), want)
	}
}

func FuzzSanitize(f *testing.F) {
	for _, seed := range []string{"", "a\r\nb", "\x1b[201~", "\xff\xfe", "\u009b201~", "é\x00日本\t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := Sanitize(text)
		if !utf8.ValidString(clean) {
			t.Errorf("%q is not UTF-8", clean)
		}
		for _, r := range clean {
			if r < 0x20 && r != '\t' && r != '\n' || r >= 0x7f && r <= 0x9f {
				t.Errorf("%q contains %U", clean, r)
			}
		}
		equal(t, "a second time", Sanitize(clean), clean)
		if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
			return r < 0x20 && r != '\t' && r != '\n' || r >= 0x7f && r <= 0x9f
		}) && clean != text {
			t.Errorf("%q needed no change and became %q", text, clean)
		}
	})
}

var must, equal = wardentest.Must, wardentest.Equal
