package top

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
)

// maxMarks is how many accents a letter may carry: more are there to spill over other lines.
const maxMarks = 2

// clean makes a text that others wrote safe to show, on one line: without control characters, and
// without what terminals disagree on how wide it is, such as joiners, chosen forms and directions.
func clean(s string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r < 0x7f: // most are
			marks = 0
			return r
		case unicode.IsSpace(r):
			marks = 0
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector), isSkinTone(r):
			return -1
		case r >= firstFlag && r <= lastFlag:
			return 'A' + r - firstFlag
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; marks > maxMarks {
				return -1
			}
			return r
		}
		marks = 0
		return r
	}, s)
}

// Two letters of these are drawn as a flag, or not.
const (
	firstFlag = '\U0001F1E6'
	lastFlag  = '\U0001F1FF'
)

func isSkinTone(r rune) bool { return r >= '\U0001F3FB' && r <= '\U0001F3FF' }

// width is how many columns a clean text takes. It is the sum over its characters, as terminals have it
// that know nothing of clusters.
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

// cut takes a clean text down to so many columns, with a mark where something is missing.
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

// pad takes a clean text to exactly so many columns.
func pad(s string, columns int) string {
	s = cut(s, columns)
	return s + strings.Repeat(" ", max(columns-width(s), 0))
}

// fold breaks a clean text between words, and within those that are wider than a line.
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

// foldText is fold for a text of several lines, which stay apart.
func foldText(s string, columns int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		folded := fold(clean(line), columns)
		if len(folded) == 0 {
			folded = []string{""}
		}
		out = append(out, folded...)
	}
	return out
}

// lasted is a time in two letters or so: a glance tells how long.
func lasted(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02d", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// words is a phase or a status as people write it.
func words[S ~string](s S) string { return strings.ReplaceAll(string(s), "_", " ") }
