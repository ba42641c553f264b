package actor

import (
	"strings"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/fit"
)

// clipMiddle shortens a tool call such as Read(/long/path/to/file.md). It keeps the tool's name and the path's end.
func clipMiddle(s string, width int) string {
	name, rest, ok := strings.Cut(s, "(")
	if !ok || fit.Width(s) <= width {
		return s
	}
	for fit.Width(name)+2+fit.Width(rest) > width && rest != "" {
		rest = rest[first(rest):]
	}
	return name + "(…" + rest
}

// Wrap breaks text into rows of at most width columns, at blanks where it can. It returns at least one row.
func Wrap(text string, width int) []string {
	width = max(width, 1)
	var rows []string
	for _, paragraph := range strings.Split(text, "\n") {
		for {
			cut := max(len(fit.Head(paragraph, width)), first(paragraph))
			if cut == len(paragraph) {
				rows = append(rows, paragraph)
				break
			}
			if blank := strings.LastIndexByte(paragraph[:cut], ' '); blank > 0 && paragraph[cut] != ' ' {
				cut = blank
			}
			rows = append(rows, paragraph[:cut])
			paragraph = strings.TrimPrefix(paragraph[cut:], " ")
		}
	}
	return rows
}

// first returns how many bytes the first rune of a text has.
func first(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// Quote returns the beginning of a text as one line of at most width columns.
func Quote(s string, width int) string {
	return fit.Cut(strings.Join(strings.Fields(s), " "), width)
}
