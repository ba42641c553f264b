package data

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/understudyd/understudy/daemon/words"
)

// Verdict is what a text says of a phrase.
type Verdict int

// The verdicts. Only Said is certain enough to let work go on without a person.
const (
	Unsaid  Verdict = iota // the phrase is not in the text, or the text denies it
	Near                   // the text has the words in another form or order: REQUEST_CHANGES for "changes requested"
	Unclear                // the text has the phrase, but may not mean it: "approved | changes requested"
	Said
)

// Weigh says what a text says of a phrase. The words of the phrase must stand in the text one directly after the other.
// Letter case, punctuation, _ and -, marks of Markdown and forms of Unicode do not count. The text does not say the phrase:
//   - behind a negation ("no changes requested", "not yet ready") or before one as an answer ("changes requested: none");
//   - in an open box of a task list, crossed out, or in a comment.
//
// It is unclear whether the text says the phrase as one of several ("approved | changes requested", "one of"), as a question,
// under a condition ("approved once the tests pass"), of another time ("the changes requested are made"), or if the text says
// and denies it. A phrase without a letter or digit is in no text.
func Weigh(text, phrase string) Verdict {
	have, want := phraseWords(text), phraseWords(phrase)
	want = want[:len(want)-1]
	if len(want) == 0 {
		return Unsaid
	}
	said, denied := false, false
	for i := 0; i+len(want) < len(have); i++ {
		if !slices.EqualFunc(have[i:i+len(want)], want, func(a, b token) bool { return a.word == b.word }) {
			continue
		}
		switch have.weigh(i, i+len(want)) {
		case Unclear:
			return Unclear
		case Said:
			said = true
		default:
			denied = true
		}
	}
	switch {
	case said && denied:
		return Unclear
	case said:
		return Said
	case !denied && have.near(want):
		return Near
	}
	return Unsaid
}

// HasWords reports whether a text has a word that is not crossed out, commented, or in an open box of a task list.
func HasWords(text string) bool { return len(phraseWords(text)) > 1 }

// token is a word of a text, and what stands between it and the word before.
type token struct {
	word  string
	line  bool // a break between two lines
	ends  bool // punctuation or a break that ends a clause
	asks  bool // a question mark
	label bool // a colon, a question mark or a dash, behind which an answer may stand
	or    bool // | or / or an open box, which stand between alternatives
	cross bool // a cross
	no    bool // a cross behind a label, which is an answer: "Approved: ❌"
}

type tokenList []token

// phraseWords reads the words of a text, without what is crossed out, commented, or in an open box. The last one has
// no word: it is what stands behind the last word.
func phraseWords(text string) (all tokenList) {
	text = strings.Map(func(r rune) rune {
		if words.Hidden(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(cutOut(cutOut(text, "<!--", "-->"), "~~", "~~")))
	gap := token{ends: true}
	for _, line := range lines(text) {
		gap.line = true
		_, content, item := listItem(line)
		if openBox(strings.TrimLeft(line, "-*+ \t")) > 0 {
			gap.ends = true
			continue
		}
		row := strings.HasPrefix(content, "|")
		gap.ends = gap.ends || item || row || strings.TrimSpace(line) == ""
		for content != "" {
			r, size := utf8.DecodeRuneInString(content)
			if n := wordEnd(content); n > 0 {
				gap.word = strings.ToLower(content[:n])
				all, gap, content = append(all, gap), token{}, content[n:]
				continue
			}
			box := openBox(content)
			switch {
			case box > 0:
				gap.or, size = true, box
			case strings.ContainsRune("❌✖✗✘👎🚫⛔🛑", r):
				gap.cross, gap.no = true, gap.no || gap.label
			case row && r == '|':
				gap.ends = true
			case r == '|', r == '/':
				gap.or = true
			case strings.ContainsRune(":?—–", r), strings.HasPrefix(content, "- "):
				gap.ends, gap.label, gap.asks = true, true, gap.asks || r == '?'
			case strings.ContainsRune(".,;!(){}[]→", r):
				gap.ends = true
			}
			content = content[size:]
		}
	}
	gap.ends = true
	return append(all, gap)
}

// openBox returns the length of the open box at the start of a text; 0: there is none.
func openBox(text string) int {
	for _, box := range [...]string{"[ ]", "[]", "( )", "☐", "⬜", "◻", "□", "🔲"} {
		if strings.HasPrefix(text, box) {
			return len(box)
		}
	}
	return 0
}

// cutOut returns a text without what stands between two marks. A mark that is not closed is text.
func cutOut(text, open, close string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, open)
		_, after, closed := strings.Cut(rest, close)
		if !ok || !closed {
			return b.String() + text
		}
		b.WriteString(before + " ")
		text = after
	}
}

// wordEnd returns where the word at the start of a text ends; 0: it begins with none.
func wordEnd(text string) int {
	n := strings.IndexFunc(text, func(r rune) bool { return !inKey(r) })
	if n < 0 {
		return len(text)
	}
	return n
}

var (
	denials = set("no not non none never neither nor without cannot t zero 0 kein keine keinen keiner keinerlei nicht ohne nie niemals " +
		"aucun aucune pas sans jamais ningún ninguna sin nunca nessun nessuna senza")
	answers  = set("no none non nein keine nothing nil na false never nichts aucun aucune ninguno ninguna nessuno 0")
	goods    = set("approved approve approves accepted accept passed pass passes ok okay good ready lgtm yes success successful done genehmigt angenommen bestanden ja")
	ors      = set("or oder ou o either entweder vs")
	betweens = set("a an any the more further other additional new yet been being be blocking remaining outstanding really entirely " +
		"fully quite completely weitere weiteren andere anderen noch mehr ganz")
)

// weigh says what the text says of the phrase that is its words from i to j.
func (l tokenList) weigh(i, j int) Verdict {
	next := l[j]
	switch {
	case l[i].or || next.or, i > 0 && ors[l[i-1].word] && !l[i].ends, ors[next.word] && !next.ends, l.oneOf(i):
		return Unclear
	case next.label && answers[next.word] && l[j+1].ends:
		return Unsaid
	case l.negated(i):
		return Unsaid
	case next.asks, next.no, l.hedged(i, j), goods[l[j-1].word] && (next.cross && !next.line || l[i].cross):
		return Unclear
	}
	return Said
}

// negated reports whether a negation stands before the word i, in the same clause, with at most three small words between.
func (l tokenList) negated(i int) bool {
	for k := i - 1; k >= 0 && k >= i-4 && !l[k+1].ends; k-- {
		switch {
		case denials[l[k].word]:
			return true
		case !betweens[l[k].word]:
			return false
		}
	}
	return false
}

// oneOf reports whether "one of" stands before the word i, close enough to be about it.
func (l tokenList) oneOf(i int) bool {
	for k := i - 2; k >= 0 && k >= i-8; k-- {
		if l[k].word == "one" && l[k+1].word == "of" || l[k].word == "eines" && l[k+1].word == "von" {
			return true
		}
	}
	return false
}

// near reports whether a clause has all words of a phrase close together, in another order or with other endings, and no
// negation before them.
func (l tokenList) near(want tokenList) bool {
	for i := range len(l) - 1 {
		end := i + 1
		for end < len(l)-1 && end < i+len(want)+2 && !l[end].ends {
			end++
		}
		all := slices.IndexFunc(want, func(w token) bool {
			return !slices.ContainsFunc(l[i:end], func(t token) bool { return sameStem(t.word, w.word) })
		}) < 0
		if all && slices.ContainsFunc(want, func(w token) bool { return sameStem(l[i].word, w.word) }) && !l.negated(i) &&
			!slices.ContainsFunc(l[i:end], func(t token) bool { return denials[t.word] }) {
			return true
		}
	}
	return false
}

// endings are what a word may have behind its stem.
var endings = set("s es d ed e ing al als er en t te st n ion ions")

// sameStem reports whether two words are equal or differ in their endings.
func sameStem(a, b string) bool {
	if a == b {
		return true
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	ending := func(rest string) bool { return rest == "" || endings[rest] }
	return n >= 4 && ending(a[n:]) && ending(b[n:])
}
