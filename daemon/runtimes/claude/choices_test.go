package claude

import (
	"fmt"
	"testing"
)

func TestOptionMode(t *testing.T) {
	t.Parallel()
	for want, options := range map[string][]string{
		"":                  {"--model", "opus"},
		"plan":              {"--permission-mode", "auto", "--permission-mode=plan"},
		"bypassPermissions": {"--permission-mode", "plan", "--dangerously-skip-permissions"},
	} {
		equal(t, fmt.Sprintf("%q", options), OptionMode(options), want)
	}
}
