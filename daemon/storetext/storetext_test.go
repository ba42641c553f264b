package storetext_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/storetest"
	"github.com/understudyd/understudy/daemon/storetext"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestJSON(t *testing.T) {
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
		wardentest.Equal(t, fmt.Sprint(in), string(storetext.JSON([]byte(in))), want)
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range storetest.NastyJSON {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		out := storetext.JSON(raw)
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Errorf("%q became %q", raw, out)
		}
		if again := storetext.JSON(out); !bytes.Equal(again, out) {
			t.Errorf("%q became %q, then %q", raw, out, again)
		}
		if !bytes.Equal(before, raw) {
			t.Errorf("%q was changed in place to %q", before, raw)
		}
	})
}
