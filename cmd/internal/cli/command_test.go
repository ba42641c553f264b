package cli

import (
	"fmt"
	"testing"

	"github.com/spf13/cobra"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestUsageLineIsTheRuleForArguments: what a usage line names is what the command takes and completes.
func TestUsageLineIsTheRuleForArguments(t *testing.T) {
	t.Parallel()
	words := map[string]cobra.CompletionFunc{"AGENT": OneOf("7", "8")}
	for _, row := range []struct {
		use     string
		all     bool // --all is set
		args    []string
		problem string
		offers  []string // for the next argument
	}{
		{"list", false, nil, "<nil>", nil},
		{"list", false, []string{"7"}, `"7" is one argument too many`, nil},
		{"send AGENT TEXT", false, nil, "AGENT is missing", []string{"7", "8"}},
		{"send AGENT TEXT", false, []string{"7"}, "TEXT is missing", nil},
		{"send AGENT TEXT", false, []string{"7", "hello", "you"}, `"you" is one argument too many`, nil},
		{"diff AGENT [FILE]...", false, []string{"7"}, "<nil>", nil},
		{"diff AGENT [FILE]...", false, []string{"7", "a", "b"}, "<nil>", nil},
		{"stop (AGENT... | --all)", false, nil, "AGENT is missing", []string{"7", "8"}},
		{"stop (AGENT... | --all)", false, []string{"7", "9"}, "<nil>", []string{"8"}},
		{"stop (AGENT... | --all)", true, nil, "<nil>", nil},
		{"stop (AGENT... | --all)", true, []string{"7"}, `"7" is one argument too many`, nil},
		{"notify AGENT on|off", false, []string{"7"}, "on|off is missing", []string{"on", "off"}},
		{"start [AGENT] [-- ARGS...]", false, []string{"7", "8"}, `"8" is one argument too many`, nil},
	} {
		root, c := &cobra.Command{}, &cobra.Command{Use: row.use, Run: func(*cobra.Command, []string) {}}
		c.Flags().Bool("all", row.all, "")
		root.AddCommand(c)
		TakeArgs(root, words)
		wardentest.Equal(t, fmt.Sprintf("%s with %q", row.use, row.args), fmt.Sprint(c.Args(c, row.args)), row.problem)
		if row.offers == nil {
			continue
		}
		if offers, _ := c.ValidArgsFunction(c, row.args, ""); fmt.Sprint(offers) != fmt.Sprint(row.offers) {
			t.Errorf("%s with %q offers %q, want %q", row.use, row.args, offers, row.offers)
		}
	}
}
