package data

import (
	"slices"
	"strings"
	"unicode"
)

// Under returns the trimmed text between the first heading of a document with that title and the next heading of any kind.
// Like [Extract] it compares only the letters and digits of a heading. ok is false if the document has no such heading.
func Under(document, title string) (text string, ok bool) {
	o := readOutline(document)
	want, from := string(appendKey(nil, title)), -1
	for h := range o.headings() {
		switch {
		case from >= 0:
			return strings.TrimSpace(o.text[from:h.start]), true
		case string(appendKey(nil, h.title)) == want:
			from = h.end
		}
	}
	if from < 0 {
		return "", false
	}
	return strings.TrimSpace(o.text[from:]), true
}

// Says reports whether a text has the words of a phrase, one directly after the other. Letter case, punctuation and Markdown
// marks do not count. A phrase without a letter or digit is in no text.
func Says(text, phrase string) bool {
	have, want := wordsIn(text), wordsIn(phrase)
	for i := 0; len(want) > 0 && i+len(want) <= len(have); i++ {
		if slices.Equal(have[i:i+len(want)], want) {
			return true
		}
	}
	return false
}

func wordsIn(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// SameHeading reports whether two titles count as equal: their letters and digits are, without letter case.
func SameHeading(a, b string) bool { return string(appendKey(nil, a)) == string(appendKey(nil, b)) }

// Standard reports whether a title is that of a field which [Extract] finds.
func Standard(title string) bool {
	key := string(appendKey(nil, title))
	return slices.ContainsFunc((&Structured{}).fields(), func(f field) bool { return f.key == key })
}
