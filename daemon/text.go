package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

// launchHash is what is kept of a launch secret.
func launchHash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func checksum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func firstNonEmpty(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// controlIn finds the first control character of s that is not among those allowed, and the byte that it
// begins at; -1: there is none.
func controlIn(s, allowed string) (r rune, at int) {
	for i, c := range s {
		if unicode.IsControl(c) && !strings.ContainsRune(allowed, c) {
			return c, i
		}
	}
	return 0, -1
}

// oneLine makes one line of a text, without control characters, those that turn the direction of writing
// among them, and of at most limit runes.
func oneLine(s string, limit int) string {
	return clip(strings.Join(strings.Fields(strings.Map(dropControl, strings.ToValidUTF8(s, "\uFFFD"))), " "), limit)
}

// dropControl maps control characters to nothing, but those that separate words to a space.
func dropControl(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case isControl(r):
		return -1
	}
	return r
}

// isControl says whether a character steers a terminal, or makes a line read in another order than it is
// written in.
func isControl(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// clip cuts a text to limit runes, the last of which then says so.
func clip(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

// firstLine returns the first line of s, at most n runes of it.
func firstLine(s string, n int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// deadPane is how tmux's own line begins, which it adds below what a program left.
const deadPane = "Pane is dead"

// lastLine returns the last line of a screen on which the program wrote something.
func lastLine(screen string) string {
	lines := strings.Split(screen, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(strings.Trim(lines[i], "─│╭╮╰╯ "))
		if line != "" && !strings.HasPrefix(line, deadPane) {
			return line
		}
	}
	return ""
}

func trimDot(s string) string { return strings.TrimSuffix(s, ".") }
