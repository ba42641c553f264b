// Package fit lays texts out in the columns of a terminal: a Chinese character takes two, an accent none. Texts come from
// [words.Terminal], which drops what terminals disagree about, and may have colours. The functions have no state.
package fit

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width returns how many columns a text takes. It adds up the widths of the characters, as terminals without grapheme
// clusters do.
func Width(s string) int { return ansi.StringWidthWc(s) }

// Head returns as much of a text as fits into that many columns.
func Head(s string, columns int) string {
	switch {
	case Width(s) <= columns:
		return s
	case columns < 1:
		return ""
	}
	s, _, _ = strings.Cut(ansi.HardwrapWc(s, columns, true), "\n")
	return s
}

// Cut shortens a text to that many columns. If it cuts, the last character is "…".
func Cut(s string, columns int) string {
	switch {
	case Width(s) <= columns:
		return s
	case columns < 1:
		return ""
	}
	return strings.TrimRight(Head(s, columns-1), " ") + "…"
}

// Pad shortens a text to exactly that many columns, or fills it with blanks.
func Pad(s string, columns int) string {
	s = Cut(s, columns)
	return s + strings.Repeat(" ", max(columns-Width(s), 0))
}

// Fold breaks a text between words into lines. A word that is wider than a line gets a line of its own.
func Fold(s string, columns int) (lines []string) {
	used := 0
	for word := range strings.FieldsSeq(s) {
		n := Width(word)
		if len(lines) > 0 && used+1+n <= columns {
			lines[len(lines)-1] += " " + word
			used += 1 + n
			continue
		}
		lines = append(lines, word)
		used = n
	}
	return lines
}

// FoldWithin is Fold, but breaks a word that is wider than a line.
func FoldWithin(s string, columns int) (lines []string) {
	columns = max(columns, 2) // a character may take two
	for _, line := range Fold(s, columns) {
		lines = append(lines, strings.Split(ansi.HardwrapWc(line, columns, true), "\n")...)
	}
	return lines
}

// Rows lays rows of cells out in columns, with two blanks between them.
func Rows(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		widths = append(widths, make([]int, max(len(row)-len(widths), 0))...)
		for i, cell := range row {
			widths[i] = max(widths[i], Width(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		cells := slices.Clone(row)
		for j := range cells {
			cells[j] = Pad(cells[j], widths[j])
		}
		lines[i] = strings.TrimRight(strings.Join(cells, "  "), " ")
	}
	return lines
}
