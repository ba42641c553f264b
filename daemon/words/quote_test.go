package words

import "testing"

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
		if got := Log(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
