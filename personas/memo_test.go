package personas

import (
	"errors"
	"testing"
)

func TestMemoParsesWhatChanged(t *testing.T) {
	t.Parallel()
	var m memo[string]
	broken := errors.New("broken")
	parsed := 0
	of := func(file, text string) (string, error) {
		return m.parse(file, text, func() (string, error) {
			parsed++
			if text == "bad" {
				return "", broken
			}
			return file + ": " + text, nil
		})
	}
	for _, step := range []struct {
		file, text string
		want       string
		err        error
		parsed     int
	}{
		{file: "a", text: "one", want: "a: one", parsed: 1},
		{file: "a", text: "one", want: "a: one", parsed: 1},
		{file: "b", text: "one", want: "b: one", parsed: 2},
		{file: "a", text: "two", want: "a: two", parsed: 3}, // as long as before
		{file: "a", text: "bad", err: broken, parsed: 4},
		{file: "a", text: "bad", err: broken, parsed: 4},
		{file: "b", text: "one", want: "b: one", parsed: 4},
	} {
		got, err := of(step.file, step.text)
		if got != step.want || !errors.Is(err, step.err) || parsed != step.parsed {
			t.Errorf("%s with %q: %q, %v, parsed %d times; want %q, %v, %d", step.file, step.text, got, err, parsed, step.want, step.err, step.parsed)
		}
	}
	m.keep(func(file string) bool { return file == "b" })
	if _, ok := m.files["a"]; ok || len(m.files) != 1 {
		t.Errorf("%d files are known, of one", len(m.files))
	}
}
