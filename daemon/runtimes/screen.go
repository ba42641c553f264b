package runtimes

import (
	"strings"
	"unicode"
)

// RuleLength is the length of the shortest rule that a screen draws.
const RuleLength = 10 // a real rule is as wide as the pane; a shorter one is part of a text

// heldEnd is the number of bytes that the end of a text must have, so that Holds accepts the end for the text.
const heldEnd = 100

// Holds reports whether the composer has the text, wherever the screen breaks its lines, or folded. A small pane shows only
// the end of a long text, so Holds also accepts an end of at least heldEnd bytes.
func (s Screen) Holds(text string) bool {
	if folds(s.Draft, text) {
		return true
	}
	text, draft := unspaced(text), unspaced(s.Draft)
	return text != "" && (strings.Contains(draft, text) || len(draft) >= heldEnd && strings.HasSuffix(text, draft))
}

// HoldsOnly reports whether the composer has the text and nothing beside it but the marks around a pasted text. part says that a part
// of the text is enough, as a kill of one line after the other leaves it.
func (s Screen) HoldsOnly(text string, part bool) bool {
	return s.Draft != "" && strings.Contains(unspaced(text), unspaced(Wrapper().ReplaceAllString(s.Draft, ""))) && (part || s.Holds(text))
}

func unspaced(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// ScreenLines removes the blanks at the end of each line and the empty lines at the end. It keeps no-break
// spaces.
func ScreenLines(screen string) []string {
	lines := strings.Split(strings.TrimRight(screen, " \r\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \r")
	}
	return lines
}

func PlainRule(l string) bool {
	return len(l) >= RuleLength*len("─") && strings.Trim(l, "─") == ""
}

// DialogTitle returns a dialog's first line that has no URL, because other people could use the URL of a login.
func DialogTitle(lines []string) string {
	for _, l := range lines {
		if l = strings.Join(strings.Fields(l), " "); l != "" && !strings.Contains(l, "://") {
			return l
		}
	}
	return "without a title"
}

// LastBox returns the rows of the box with which the screen ends; nil: it ends otherwise.
func LastBox(lines []string) []string {
	bottom := len(lines) - 1
	if !strings.HasPrefix(strings.TrimLeft(lines[bottom], " "), "╰─") || !strings.HasSuffix(lines[bottom], "─╯") {
		return nil
	}
	for i := bottom - 1; i >= 0; i-- {
		if strings.HasPrefix(strings.TrimLeft(lines[i], " "), "╭─") {
			return lines[i+1 : bottom]
		}
	}
	return lines[:bottom] // a box that is higher than the pane
}
