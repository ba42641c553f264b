package db

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// nastyJSON is what jsonb refuses, or what it must not be given.
var nastyJSON = []string{
	``, `null`, `{"a": "b"}`, `{"a": "\u0000"}`, `{"\u0000": "\\u0000 \\\u0000"}`, `"\ud800"`, `"\ud800\ud800"`, `"\udc00\ud800"`,
	`"\ud83d\ude00"`, `"\ud83d\u0041"`, "{\"a\": \"\xff\"}", "\"\x00\"", "not JSON", "{\"a\": \x00}", `{"a": 1`, `{"a": 1e999999999}`,
	`{"a": -1.5E-999999}`, `1e400000`, "[" + strings.Repeat("1", 2000) + "]", strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
	`{"a": "1e999999 [[[["}`, `"\\"`, `"\""`, `[1e10, -2.5, {"x": 0}]`,
}

func TestStorableJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                            `{}`,
		`{"a": 1.5e3}`:                `{"a": 1.5e3}`,
		`"a\u0000b"`:                  "\"a\uFFFDb\"",
		`"\\u0000"`:                   `"\\u0000"`,
		`"\\\u0000"`:                  "\"\\\\\uFFFD\"",
		`"\ud800x"`:                   "\"\uFFFDx\"",
		`"\ud800\ud83d\ude00"`:        "\"\uFFFD" + `\ud83d\ude00"`,
		`"\u00e9\n"`:                  `"\u00e9\n"`,
		"\"\xff\"":                    "\"\uFFFD\"",
		`no`:                          `"no"`,
		`1e1000`:                      `"1e1000"`,
		`{"a": "1e99999", "b": [-1]}`: `{"a": "1e99999", "b": [-1]}`,
	} {
		if got := string(storableJSON([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzStorableJSON(f *testing.F) {
	for _, seed := range nastyJSON {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		out := storableJSON(raw)
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Errorf("%q became %q", raw, out)
		}
		if again := storableJSON(out); !bytes.Equal(again, out) {
			t.Errorf("%q became %q, then %q", raw, out, again)
		}
		if !bytes.Equal(before, raw) {
			t.Errorf("%q was changed in place to %q", before, raw)
		}
	})
}
