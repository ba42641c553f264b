package runtimes

import (
	"strings"
	"unicode"
)

// echoLength is how many characters of a text's end must be seen. A small pane shows only the end of a long text.
const echoLength = 48

// Echo says how often a screen shows the end of a text, and returns the last row that shows the very end of it. It knows
// nothing of the screen's layout: blanks, the breaks of lines and the lines of boxes do not count.
func Echo(screen, text string) (times int, row string) {
	want := []rune(bare(text))
	if len(want) == 0 {
		return 0, ""
	}
	end := string(want[max(0, len(want)-echoLength):])
	if times = strings.Count(bare(screen), end); times == 0 {
		return 0, ""
	}
	for _, line := range ScreenLines(screen) {
		if b := bare(line); b != "" && (strings.HasSuffix(b, tailOf(want)) || strings.HasSuffix(end, b)) {
			row = line
		}
	}
	return times, row
}

// tailOf returns the last characters of a text that a single row shows, wherever the screen breaks the text.
func tailOf(text []rune) string {
	const few = 4
	return string(text[max(0, len(text)-few):])
}

// bare returns a text without white space, and without the characters of which boxes and bars are drawn.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || '\u2500' <= r && r <= '\u259f' {
			return -1
		}
		return r
	}, s)
}
