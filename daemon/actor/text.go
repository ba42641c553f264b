package actor

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// runeWidth returns how many columns a rune takes on a terminal. It does not know all of Unicode, but enough for prompts
// and paths.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// Width returns how many columns a text takes on a terminal.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// Clip shortens s to width columns. The last column of a shortened text is "…".
func Clip(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > width-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// clipMiddle shortens a tool call such as Read(/long/path/to/file.md). It keeps the tool's name and the path's end.
func clipMiddle(s string, width int) string {
	name, rest, ok := strings.Cut(s, "(")
	if !ok || Width(s) <= width {
		return s
	}
	for Width(name)+2+Width(rest) > width && rest != "" {
		_, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
	}
	return name + "(…" + rest
}

// Wrap breaks text into rows of at most width columns, at blanks where it can. It returns at least one row.
func Wrap(text string, width int) []string {
	width = max(width, 1)
	var rows []string
	for _, paragraph := range strings.Split(text, "\n") {
		for {
			cut := fit(paragraph, width)
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

// fit returns how many bytes of s fit into width columns; at least the bytes of one rune.
func fit(s string, width int) int {
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > width && i > 0 {
			return i
		}
	}
	return len(s)
}

// Quote returns the beginning of a text as one line of at most width columns.
func Quote(s string, width int) string {
	return Clip(strings.Join(strings.Fields(s), " "), width)
}
