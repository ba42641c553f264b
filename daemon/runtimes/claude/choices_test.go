package claude

import (
	"testing"
)

func TestOptionMode(t *testing.T) {
	t.Parallel()
	for want, options := range map[string][]string{
		"":                  {"--model", "opus"},
		"plan":              {"--permission-mode", "auto", "--permission-mode=plan"},
		"bypassPermissions": {"--permission-mode", "plan", "--dangerously-skip-permissions"},
	} {
		if got := OptionMode(options); got != want {
			t.Errorf("%q: %q, want %q", options, got, want)
		}
	}
}
