package top

import (
	"strings"

	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/words"
)

// foldText folds a text of several lines. It keeps the line breaks.
func foldText(s string, columns int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		folded := fit.FoldWithin(words.Terminal(line), columns)
		if len(folded) == 0 {
			folded = []string{""}
		}
		out = append(out, folded...)
	}
	return out
}
