package data

import (
	"strings"
	"unicode"
)

// DocumentSaysNothing is the code of a [DocumentError]: the document is text, but says next to nothing.
const DocumentSaysNothing = "document_says_nothing"

// DocumentSecret is the code of a [DocumentError]: the document seems to have secrets.
const DocumentSecret = "document_secret"

// Substance is how much a document says.
type Substance struct {
	Words    int // outside of headings and comments
	Headings int
}

// SubstanceOf counts the words and the headings of a document. In scripts that put no blanks between words, each character
// counts as a word.
func SubstanceOf(document string) (s Substance) {
	o, from := readOutline(document), 0
	for h := range o.headings() {
		s.Headings++
		s.Words += countWords(o.text[from:h.start])
		from = h.end
	}
	s.Words += countWords(o.text[from:])
	return s
}

// WithoutComments returns a text of Markdown without its comments, trimmed.
func WithoutComments(text string) string {
	if !strings.Contains(text, "<!--") {
		return strings.TrimSpace(text)
	}
	return strings.TrimSpace(cutOut(text, "<!--", "-->"))
}

// countWords counts the words of a text outside of comments.
func countWords(text string) (n int) {
	for {
		before, rest, ok := strings.Cut(text, "<!--")
		inWord := false
		for _, r := range before {
			switch {
			case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
				n++
				inWord = false
			case unicode.IsLetter(r) || unicode.IsNumber(r):
				if !inWord {
					n++
				}
				inWord = true
			case r != '\'' && r != '’' && r != '-' && r != '_' && r != '.' && r != '/' && !unicode.IsMark(r):
				inWord = false
			}
		}
		if !ok {
			return n
		}
		_, text, _ = strings.Cut(rest, "-->")
	}
}

// CheckSubstance refuses a document that has fewer than least words, or no heading at all; least 0 accepts every document.
func CheckSubstance(doc Document, least int) error {
	s := SubstanceOf(string(doc.Bytes))
	switch {
	case least <= 0 || s.Headings > 0 && s.Words >= least:
		return nil
	case s.Headings == 0:
		return refuse(DocumentSaysNothing, nil, "handoff document %q has no heading, as if it were not a document", doc.Path)
	}
	return refuse(DocumentSaysNothing, nil, "handoff document %q has %d words beside its headings, fewer than %d", doc.Path, s.Words, least)
}
