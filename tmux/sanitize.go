package tmux

import "strings"

// Sanitize returns text as it may be typed into a terminal. Line ends become LF. Control characters
// other than TAB and LF, DEL, and U+0080 to U+009F are dropped. Each byte that is not UTF-8 becomes
// U+FFFD.
//
// Sanitize drops ESC so that the text stays inside its paste brackets. tmux before 3.7 passes ESC[201~ on, which ends
// the brackets, and the text after it would be typed as commands. It does not suffice to delete that sequence,
// because the characters around it can form the same sequence.
func Sanitize(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i, r := range text { // range yields U+FFFD for an invalid byte
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
