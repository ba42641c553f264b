package yamlfile

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestFrontMatterIsReadAsTheCLIReadsIt: the files of Claude Code's agents are seldom YAML, and the CLI loads them all the same.
func TestFrontMatterIsReadAsTheCLIReadsIt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"description: plain\n":                                       "plain",
		"description: 'quoted: x'\n":                                 "quoted: x",
		"description: Use this. Examples: Context: a user: \"b\"\n":  `Use this. Examples: Context: a user: "b"`,
		"description: Use this: it's good\r\nmodel: inherit\r\n":     "Use this: it's good",
		"description: Use this: a\n  and: b\n\tand c\nmodel: opus\n": "Use this: a and: b and c",
		"description: @reviewer looks\n":                             "@reviewer looks",
		"description: *bold* words\n":                                "*bold* words",
		"description: `code` first\n":                                "`code` first",
		"description: %done\n":                                       "%done",
		"description: {name} looks\n":                                "{name} looks",
		"description: [a] b\n":                                       "[a] b",
		"description: \"a\" and b\n":                                 `"a" and b`,
		"description: x # a comment\n":                               "x",
		"description: >-\n  folded\n  lines\nmodel: a: b\n":          "folded lines",
	} {
		v, err := ParseFront([]byte(in), "front matter")
		got := ""
		if err == nil {
			err = v.Each(nil, func(key, value Value) (err error) {
				if key.Value == "description" {
					got, err = value.Text()
				}
				return err
			})
		}
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"description: a\nmodel\n": "line 2: not YAML (could not find expected ':'): check the indentation, and put quotes around text that contains a colon",
		"\tname: x\n":             "line 1: not YAML (found character that cannot start any token): check the indentation, and put quotes around text that contains a colon",
	} {
		if _, err := ParseFront([]byte(in), "front matter"); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

func TestCheckTextNamesTheEncoding(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                      "",
		"\ufeffa: ü\n":          "",
		"a\nPr\xfcfe\n":         "line 2: the text is not UTF-8, but perhaps Latin-1: convert the file with `iconv -f ISO-8859-1 -t UTF-8`",
		"a\n\nb\x00":            "line 3: a NUL byte: save the file as UTF-8 text",
		"\xff\xfea\x00":         "line 1: the text is UTF-16: convert the file with `iconv -f UTF-16 -t UTF-8`",
		"\xfe\xff\x00a":         "line 1: the text is UTF-16: convert the file with `iconv -f UTF-16 -t UTF-8`",
		"\ufffd is a character": "",
	} {
		got := ""
		if err := CheckText([]byte(in)); err != nil {
			got = err.Error()
		}
		wardentest.Equal(t, fmt.Sprintf("%q", in), got, want)
	}
}
