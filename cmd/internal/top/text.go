package top

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/understudyd/understudy/daemon/words"
)

// width returns how many columns a clean text takes. It adds up the widths of the characters, as terminals without
// grapheme clusters do.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if r < 0x7f {
		return 1
	}
	return lipgloss.Width(string(r))
}

// cut shortens a clean text to that many columns, and puts a mark at the place of the cut.
func cut(s string, columns int) string {
	if width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	used := 0
	for i, r := range s {
		if used += runeWidth(r); used > columns-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// pad shortens a clean text to exactly that many columns, or fills it with blanks.
func pad(s string, columns int) string {
	s = cut(s, columns)
	return s + strings.Repeat(" ", max(columns-width(s), 0))
}

// fold breaks a clean text into lines between words. It breaks a word only if the word is wider than a line.
func fold(s string, columns int) []string {
	columns = max(columns, 1)
	var lines []string
	line, used := strings.Builder{}, 0
	end := func() {
		lines = append(lines, line.String())
		line.Reset()
		used = 0
	}
	for word := range strings.FieldsSeq(s) {
		n := width(word)
		switch {
		case used > 0 && used+1+n > columns:
			end()
		case used > 0:
			line.WriteByte(' ')
			used++
		}
		if n <= columns {
			line.WriteString(word)
			used += n
			continue
		}
		for _, r := range word {
			if w := runeWidth(r); used > 0 && used+w > columns {
				end()
			}
			line.WriteRune(r)
			used += runeWidth(r)
		}
	}
	if used > 0 {
		end()
	}
	return lines
}

// foldText folds a text of several lines. It keeps the line breaks.
func foldText(s string, columns int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		folded := fold(words.Terminal(line), columns)
		if len(folded) == 0 {
			folded = []string{""}
		}
		out = append(out, folded...)
	}
	return out
}

// drawnWidth returns how many columns a line takes that has colours.
func drawnWidth(line string) int { return width(colourless(line)) }

// cutDrawn cuts a line that has colours to that many columns. It keeps all its colours, so that what follows looks as before.
func cutDrawn(line string, columns int) string {
	used, inside := 0, false
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\x1b':
			inside = true
			return r
		case inside:
			inside = r != 'm'
			return r
		}
		if used += runeWidth(r); used > columns {
			return -1
		}
		return r
	}, line)
}

// colourless returns the text of a line that has colours.
func colourless(line string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\x1b':
			inside = true
			return -1
		case inside:
			inside = r != 'm'
			return -1
		}
		return r
	}, line)
}
