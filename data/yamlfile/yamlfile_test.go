package yamlfile

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestErrors: each error names the line and what it is about.
func TestErrors(t *testing.T) {
	t.Parallel()
	text := func(_, v Value) error { _, err := v.Text(); return err }
	for in, want := range map[string]string{
		"a: b\n":                     "",
		"a:\n":                       "",
		"":                           "",
		"# a\n---\n":                 "",
		"a: 1":                       "line 1: a: must be text: put it in quotes",
		"a: &x b\nc: *x":             "line 2: c: must be text",
		"a: \"b\\e\"":                "line 1: a: has a control character",
		"a: b\na: c":                 "line 2: the file: has the key a twice: remove one of them",
		"a: b\n[c]: d":               "line 2: the file: a key must be a word",
		"- a":                        "line 1: the file: must be lines of key: value",
		"a: b\n---\nc: d":            "line 2: a second document begins",
		"a:\n  - b\nc:\n  - d\n - e": "line 5: not YAML (did not find",
		"a: [\n" + strings.Repeat("b: c\n", 50_000): "not YAML (",
	} {
		v, err := Parse([]byte(in), "the file")
		if err == nil {
			err = v.Each(nil, text)
		}
		if err == nil && want != "" || err != nil && (want == "" || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%.20q gives %v, want %s", in, err, want)
		}
	}
}

// TestDeepKeys: a key is named with those above it.
func TestDeepKeys(t *testing.T) {
	t.Parallel()
	v, err := Parse([]byte("a:\n  b:\n    c: [1]\n"), "the file")
	wardentest.Must(t, err)
	var items []Value
	err = v.Each([]string{"a"}, func(_, v Value) error {
		return v.Each(nil, func(_, v Value) error {
			return v.Each(nil, func(_, v Value) (err error) {
				items, err = v.Items("")
				return err
			})
		})
	})
	if err != nil || len(items) != 1 || items[0].Of != "a.b.c" || items[0].Line != 3 {
		t.Errorf("%+v, %v", items, err)
	}
}
