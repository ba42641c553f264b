package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Agents, people and programs choose names, notes, documents and what a pane shows. Each function below
// makes such a text safe for one target. In all of them a byte that is not UTF-8 becomes U+FFFD.

var (
	unixLines     = strings.NewReplacer("\r\n", "\n", "\r", "\n")
	withoutMarkup = strings.NewReplacer("<", "‹", ">", "›", "&", "＆")
)

// Hidden reports whether a character changes how the text around it is shown, or hides in it: a control
// character (ESC and the others of C0 and C1 command a terminal), or a format character (a direction
// reorders the line, one without width hides in a word, a tag spells what only a model reads).
func Hidden(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }

// hiddenButNoJoiner is what is hidden, but for the two joiners: Persian words are spelled with them, and emoji are put
// together by them.
func hiddenButNoJoiner(r rune) bool { return Hidden(r) && r != '\u200c' && r != '\u200d' }

// Line is a text on one line, for a name, a sentence, an event or a notification: white space, line breaks
// included, becomes one blank, and hidden characters other than joiners are dropped.
func Line(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if hiddenButNoJoiner(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)), " ")
}

// Text is a text of several lines for a reader that takes it as it is: the file that a successor is given.
// Lines end with "\n" and tabs stay. Hidden characters other than joiners are dropped.
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

// Page is a text of several lines for the dashboard, also once it was made HTML: hidden characters become
// U+FFFD, so that a person who judges the text sees that something was there, and so that what stood on
// both sides of them does not become one word, such as a scheme in a link. Tabs, line breaks and joiners stay.
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

// maxMarks is how many accents a letter may carry on a terminal: more are there to spill over other lines.
const maxMarks = 2

// Two letters of these are drawn as a flag, or not.
const firstFlag, lastFlag = '\U0001F1E6', '\U0001F1FF'

// Terminal is one line of a terminal. Each white space becomes a blank; blanks stay apart, since they
// indent code and stand in paths. Hidden characters are dropped, and so is what terminals disagree on how
// wide it is: joiners as well, chosen forms, skin tones and private characters; a flag becomes its letters. One
// wrong width would shift the rest of the line.
func Terminal(s string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r < 0x7f: // most are
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

// Notification is a text for any desktop: a line of at most limit characters that no program takes for an
// option, without what a desktop could take for markup. Whether a desktop knows markup, and whether it strips
// what it does not know, no desktop says reliably.
func Notification(s string, limit int) string {
	return withoutMarkup.Replace(clipKeepingCommand(strings.TrimLeft(Line(s), "- "), limit))
}

// clipKeepingCommand cuts a line to limit characters. Commands at its end are left whole, as far as they take up no more
// than two thirds: it is cut before them. What a pane shows, between ‹ and ›, is no command of ours.
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

// Clip cuts a text to limit characters, the last of which then says that something is missing.
func Clip(s string, limit int) string {
	last, n := 0, 0 // where the last character begins that stays beside the mark
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

// FirstLine is the first [Line] of a text that says something, cut to limit characters.
func FirstLine(s string, limit int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return Clip(Line(s), limit)
}
