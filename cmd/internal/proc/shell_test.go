package proc

import "testing"

func TestShellQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":               "''",
		"/srv/data":      "/srv/data",
		"%5":             "%5",
		";":              "';'",
		"a b":            "'a b'",
		"it's":           `'it'\''s'`,
		"-x=$(rm -rf /)": "'-x=$(rm -rf /)'",
		"a'; rm -rf /;'": `'a'\''; rm -rf /;'\'''`,
		"ümlaut":         "'ümlaut'",
	} {
		equal(t, "shellQuote("+in+")", ShellQuote(in), want)
	}
}
