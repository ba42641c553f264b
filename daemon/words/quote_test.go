package words

import (
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestLogLeavesQuotesOut: nothing that a pane shows enters the log, also if the pane shows the marks of a quote.
func TestLogLeavesQuotesOut(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"It ended.": "It ended.",
		"It shows " + Quote("a") + " and " + Quote("b"): "It shows ‹…› and ‹…›",
		"It shows " + Quote("‹secret› more") + ".":      "It shows ‹…›.",
		"An open ‹ mark":      "An open ‹ mark",
		"a › b " + Quote("c"): "a › b ‹…›",
	} {
		equal(t, message, Log(message), want)
	}
}

var equal = wardentest.Equal
