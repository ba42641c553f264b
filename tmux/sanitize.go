package tmux

import "strings"

// Sanitize returns text as it may be typed into a terminal: line ends become LF; control
// characters other than TAB and LF, DEL and U+0080 to U+009F are dropped; each byte that is not
// UTF-8 becomes U+FFFD.
//
// Dropping ESC is what keeps a text inside its paste brackets: tmux before 3.7 passes ESC[201~
// through, and what comes after it would be typed as commands. Deleting that sequence instead
// would not do, since the rest can form it anew.
func Sanitize(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i, r := range text { // an invalid byte is seen as U+FFFD
		switch {
		case r == '\r':
			if !strings.HasPrefix(text[i+1:], "\n") {
				b.WriteByte('\n')
			}
		case r == '\t', r == '\n':
			b.WriteRune(r)
		case r < 0x20, r >= 0x7f && r <= 0x9f:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
