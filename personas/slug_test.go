package personas

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseSlug(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Slug{
		"developer-con-1":                {"developer", "con", 1},
		"senior-go-developer-x-7":        {"senior-go-developer", "x", 7},
		"1-2-3":                          {"1", "2", 3},
		"a-b-10":                         {"a", "b", 10},
		strings.Repeat("a", 60) + "-b-1": {strings.Repeat("a", 60), "b", 1},
	} {
		got, err := ParseSlug(in)
		if err != nil || got != want || got.String() != in {
			t.Errorf("%q gives %+v, %v; want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "-", "--", "a", "a-b", "con-1", "a-b-", "a--1", "-b-1", "a-b-0", "a-b-01", "a-b-x", "a-b--1", "a-b-+1",
		"A-b-1", "ä-b-1", "a_b-c-1", "a-b-1 ", " a-b-1", "a-b-1\n", "a-b-1\x00", "a--b-c-1", "../a-b-1", "a/b-c-1", "..-..-1", ".a-b-1",
		"a-b-99999999999999999999", "a-b-١", strings.Repeat("a", 61) + "-b-1",
	} {
		failed(ParseSlug(in))(t, fmt.Sprintf("%q", in))
	}
}

func FuzzParseSlug(f *testing.F) {
	for _, seed := range []string{"developer-con-1", "a-b-c-12", "a-b-01", "../x-y-1", "a--b-1", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, err := ParseSlug(in)
		if err != nil {
			return
		}
		if s.String() != in {
			t.Fatalf("%q comes back as %q", in, s.String())
		}
		if s.N < 1 || strings.Contains(s.Name, "-") || len(in) > maxSlug {
			t.Fatalf("%q gives %+v", in, s)
		}
		if !filepath.IsLocal(in) || filepath.Base(in) != in || in[0] == '.' {
			t.Fatalf("%q is not the name of one folder", in)
		}
	})
}
