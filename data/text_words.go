package data

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSpan is the maximal length of a code span and of a link, in bytes. It limits the search for the end of a span or a
// link, because the end may be missing.
const maxSpan = 1024

// word is a word of a text. A code span or a link counts as one word.
type word struct {
	text   string // in lower case, without the punctuation around it; "" for a code span or a link
	path   string // path of the file that the word names, "" if it names no file
	clause bool   // punctuation follows
	ends   bool   // the word is the last of its sentence
}

// abbreviations end with a period that does not end a sentence.
var abbreviations = set("e.g. i.e. etc. vs. cf. approx. incl. resp. fig.")

// wordsOf returns the words of a text.
func wordsOf(text string) []word {
	var all []word
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case unicode.IsSpace(r):
			text = text[size:]
		case r == '`':
			code, rest := codeSpan(text)
			text = rest
			if code != "" {
				all = append(all, word{path: codePath(code)})
			}
		case r == '[':
			target, rest, ok := link(text)
			text = rest
			if ok {
				all = append(all, word{path: filePath(target, true)})
			}
		case strings.ContainsRune(`({<"'“”‘`, r):
			text = text[size:]
		case strings.ContainsRune(",;:!?)]}>’—–→|", r), strings.ContainsRune(".-", r) && breaks(text[size:]):
			text = text[size:]
			if len(all) > 0 {
				last := &all[len(all)-1]
				last.clause = true
				last.ends = last.ends || strings.ContainsRune(".;!?", r)
			}
		default:
			w, n := bareWord(text)
			all = append(all, w)
			text = text[n:]
		}
	}
	return all
}

// breaks reports whether the period or hyphen before rest is punctuation. The period of .gitignore is not: it is part of
// the word.
func breaks(rest string) bool {
	return rest == "" || strings.IndexByte(" \t\n-)]}*_", rest[0]) >= 0
}

// bareWord reads the word at the start of text. n is its length in bytes, at least one character.
func bareWord(text string) (w word, n int) {
	n = strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("`,|\"“”—–→", r) })
	if n < 0 {
		n = len(text)
	}
	if n == 0 {
		_, n = utf8.DecodeRuneInString(text)
	}
	raw := text[:n]
	plain := strings.TrimRight(raw, ".,;:!?)]}>'’*_")
	if stars := strings.TrimLeft(plain, "*"); !strings.HasPrefix(stars, "/") && !strings.HasPrefix(stars, ".") {
		plain = stars
	}
	if underlined := strings.TrimLeft(plain, "_"); underlined != plain && strings.HasSuffix(strings.TrimRight(raw, ".,;:!?)]}>'’*"), "_") {
		plain = underlined
	}
	tail := raw[strings.LastIndex(raw, plain)+len(plain):]
	w = word{text: strings.ToLower(plain), clause: strings.Trim(tail, "*_") != ""}
	w.ends = strings.ContainsAny(tail, ".;!?") && !abbreviations[strings.ToLower(raw)]
	if !strings.HasPrefix(tail, "()") && !strings.Contains(raw, "()") {
		w.path = filePath(plain, false)
	}
	return w, n
}

// codeSpan reads the code span at the start of text. rest is the text behind the span. If the span has no end, code is ""
// and rest is the text behind the first backticks.
func codeSpan(text string) (code, rest string) {
	rest = strings.TrimLeft(text, "`")
	ticks := text[:len(text)-len(rest)]
	for from := 0; ; {
		i := strings.Index(rest[from:min(len(rest), maxSpan)], ticks)
		if i < 0 {
			return "", rest
		}
		end := from + i
		after := strings.TrimLeft(rest[end:], "`")
		if len(rest)-end-len(after) == len(ticks) {
			return rest[:end], after
		}
		if from = len(rest) - len(after); from >= maxSpan || from >= len(rest) {
			return "", rest
		}
	}
}

// codePath returns the path of the file that a code span names. It returns "" for a command line, even if the line
// contains file names.
func codePath(code string) string {
	code = strings.TrimSpace(code)
	if strings.ContainsFunc(code, unicode.IsSpace) {
		return ""
	}
	return filePath(code, true)
}

// link reads the link at the start of text: [what](target "title"). rest is the text behind the link. If text begins with
// no link, ok is false and rest is the text behind the bracket.
func link(text string) (target, rest string, ok bool) {
	near := text[:min(len(text), maxSpan)]
	_, after, ok := strings.Cut(near, "](")
	if !ok || strings.Contains(near[:len(near)-len(after)], "\n\n") || strings.Contains(near[1:len(near)-len(after)], "[") {
		return "", text[1:], false
	}
	target, after, ok = strings.Cut(after, ")")
	if !ok {
		return "", text[1:], false
	}
	rest = text[len(near)-len(after):]
	target, _, _ = strings.Cut(strings.TrimSpace(target), " ")
	return strings.Trim(target, "<>"), rest, true
}
