package words

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Agents, people and programs write names, notes, documents and the text in a pane. Each function below
// makes such a text safe for one target. All of them turn a byte that is not UTF-8 into U+FFFD.

var (
	unixLines     = strings.NewReplacer("\r\n", "\n", "\r", "\n")
	withoutMarkup = strings.NewReplacer("<", "‹", ">", "›", "&", "＆")
)

// Hidden reports whether a character is invisible and may change how the text around it is shown. Such a
// character is a control character (ESC and the others of C0 and C1 command a terminal), or a format
// character. Of the format characters, a direction reorders the line, a zero-width character hides in a
// word, and tags spell a text that only a model reads.
func Hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) // signs of Arabic, which are seen
}

// Unseen reports whether a character has no place in a name or a line that somebody gives: it is hidden and no joiner, or breaks the line
// for some readers and not for others.
func Unseen(r rune) bool { return hiddenButNoJoiner(r) || unicode.In(r, unicode.Zl, unicode.Zp) }

// hiddenButNoJoiner reports whether a character is hidden and not one of the two joiners, which Persian words and
// emoji need.
func hiddenButNoJoiner(r rune) bool { return Hidden(r) && r != '\u200c' && r != '\u200d' }

// Line makes one line, for a name, a sentence, an event or a notification: white space, line breaks included, becomes
// one blank, and hidden characters other than joiners are dropped.
func Line(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if hiddenButNoJoiner(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)), " ")
}

// Text makes several lines for a reader that takes the text as it is: the file that a successor is given. Lines end
// with "\n" and tabs stay. Hidden characters other than joiners are dropped.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case hiddenButNoJoiner(r) && r != '\n' && r != '\t':
			return -1
		}
		return r
	}, unixLines.Replace(s))
}

// Page makes several lines for the dashboard. It may also be applied to the HTML that is made from its result. Hidden
// characters become U+FFFD, so that a person who judges the text sees that something was there, and the text on both
// sides does not become one word, such as a scheme in a link. Tabs, line breaks and joiners stay.
func Page(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case hiddenButNoJoiner(r) && r != '\n' && r != '\t':
			return utf8.RuneError
		}
		return r
	}, s)
}

// Screen makes what a pane shows, for a program or a terminal that takes the text as it is. It is as wide as before.
func Screen(s string) string {
	return strings.Map(func(r rune) rune {
		if Unseen(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// JSON makes a JSON text that neither steers a terminal nor misleads who reads it there: hidden characters in its strings are escaped, so that
// its value is the same.
func JSON(text []byte) []byte {
	escapes := func(r rune) bool {
		return (Hidden(r) || unicode.In(r, unicode.Zl, unicode.Zp)) && r != '\n' // which stands between values
	}
	if !bytes.ContainsFunc(text, escapes) {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if escapes(r) {
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		} else {
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}

// maxMarks is how many accents a letter keeps on a terminal. More would spill over other lines.
const maxMarks = 2

// The regional letters, from firstFlag to lastFlag. Some terminals draw two of them as a flag.
const firstFlag, lastFlag = '\U0001F1E6', '\U0001F1FF'

// Terminal makes one line for a terminal. Each white space becomes a blank. Several blanks stay several, because they
// indent code and occur in paths. Terminal drops hidden characters. It also drops characters whose width differs
// between terminals, because one wrong width would shift the rest of the line: joiners, variation selectors, skin tones
// and private characters. A flag becomes its letters.
func Terminal(s string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r < 0x7f: // most characters
			marks = 0
			return r
		case r == '\r':
			return -1
		case unicode.IsSpace(r):
			marks = 0
			return ' '
		case Hidden(r), unicode.In(r, unicode.Co, unicode.Variation_Selector), r >= '\U0001F3FB' && r <= '\U0001F3FF':
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

// Notification makes a text for any desktop: one line of at most limit characters. The line does not begin with "-", so
// no program takes it for an option. It has no "<", ">" or "&", because no desktop says reliably whether it reads
// markup, and whether it strips markup that it does not know.
func Notification(s string, limit int) string {
	return withoutMarkup.Replace(clipKeepingCommand(strings.TrimLeft(Line(s), "- "), limit))
}

// clipKeepingCommand cuts a line to limit characters. If the line ends with commands of understudy in backticks, and they
// take up no more than two thirds of limit, it keeps them whole and cuts the text before them. It does not look before
// the last ›, because a command between ‹ and › is quoted from a pane and is not ours.
func clipKeepingCommand(s string, limit int) string {
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	for at := strings.LastIndex(s, "›") + 1; ; {
		next := strings.Index(s[at:], "`understudy ")
		if next < 0 {
			return Clip(s, limit)
		}
		at += next
		if tail := []rune(s[at:]); len(tail) <= limit*2/3 {
			return string(r[:limit-len(tail)-2]) + "… " + string(tail)
		}
		at++
	}
}

// Clip cuts a text to limit characters. If it cuts, the last character is "…", which shows that something is missing.
func Clip(s string, limit int) string {
	last, n := 0, 0 // last: where the character number limit begins, which "…" replaces; n: characters so far
	for at := range s {
		if n++; n == limit {
			last = at
		}
		if n > limit {
			return strings.TrimRight(s[:last], " ") + "…"
		}
	}
	return s
}

// FirstLine returns the first line of a text that is not blank, as [Line] makes it, cut to limit characters.
func FirstLine(s string, limit int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return Clip(Line(s), limit)
}
