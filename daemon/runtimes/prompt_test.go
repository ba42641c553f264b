package runtimes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestIsCommandText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"/exit": true, " /help me": true, "!ls": true, "\n! ls": true, "exit": true, " quit \n": true, ":wq": true, ":q": true,
		"": false, "exit the loop": false, "Exit": false, "# a heading": false, "see /etc": false, "-rf": false,
	} {
		equal(t, text+" is not", IsCommandText(text), want)
	}
}

func TestSafePrompt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hello":        "hello",
		" hello \n":    "hello",
		`C:\`:          `C:\ `,
		"look at @src": "look at @src ",
		"@":            "@ ",
		"a@b.example":  "a@b.example",
		"@src please":  "@src please",
	} {
		equal(t, fmt.Sprintf("%q", text), wardentest.Value(SafePrompt(text))(t), want)
	}
	for _, text := range []string{"", " \n", "/exit", "!rm", "quit"} {
		wardentest.Failed(SafePrompt(text))(t, fmt.Sprintf("%q", text))
	}
}

func TestMatchesPrompt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hook, typed string
		want        bool
	}{
		"equal":        {"do it", "do it", true},
		"trimmed":      {"do it", " do it \n", true},
		"after draft":  {"a draft do it", "do it", true},
		"tab":          {"a    b", "a\tb", true},
		"line ends":    {"a\nb", "a\r\nb", true},
		"pasted":       {"\n\n<pasted_content id=\"c2ff\">\na\nb\nc\nd\n</pasted_content id=\"c2ff\">\n", "a\nb\nc\nd", true},
		"pasted in it": {"see\n<pasted_content id=\"c2ff\">\na\n</pasted_content id=\"c2ff\">", "see a", true},
		"quoted":       {"Noted: <pasted_content id=\"c2ff\"> a … go on", "Noted: <pasted_content id=\"c2ff\"> a … go on", true},
		"other":        {"do that", "do it", false},
		"cut off":      {"do", "do it", false},
		"nothing":      {"do it", " ", false},
	} {
		equal(t, name, MatchesPrompt(tt.hook, tt.typed), tt.want)
	}
}

// TestUnmentioned: what attaches a file from elsewhere is told from an address and from a file of the receiver's directory.
func TestUnmentioned(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@/etc/passwd": `\@/etc/passwd`, "see @/a @~/b": `see \@/a \@~/b`, "import x from '@/lib'": "import x from '@/lib'", `@"a b/../x"`: `\@"a b/../x"`, `@a\ b/../x`: `\@a\ b/../x`, "> @../x": `> \@../x`, "@src/../../x": `\@src/../../x`, `@"/a b"`: `\@"/a b"`,
		"@file:///a": `\@file:///a`, "\n@/a\n": "\n\\@/a\n", "@src/a.go": "@src/a.go", "con@/x": "con@/x", "a@b..c": "a@b..c", `\@/a`: `\@/a`, "@ /a": "@ /a",
	} {
		equal(t, text, Unmentioned(text), want)
		equal(t, text+" twice", Unmentioned(Unmentioned(text)), want)
	}
}

func TestFitsTyped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"empty": {"", true}, "800": {strings.Repeat("x", 800), true}, "801": {strings.Repeat("x", 801), false},
		"two bytes each": {strings.Repeat("é", 800), true}, "emoji count twice": {strings.Repeat("😀", 401), false},
		"three lines": {"a\nb\nc", true}, "four lines": {"a\nb\nc\nd", false}, "broken UTF-8": {"\xff", true},
	} {
		equal(t, name+": not", FitsTyped(tt.text), tt.want)
	}
}

var equal = wardentest.Equal
