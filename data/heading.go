package data

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// This file finds the headings of a text, and what stands under them. Everything that reads headings asks it: the four
// fields of a document, the sections that a role requires, and the verdicts on which the rules of a pipeline depend.
//
// A line that begins with # is a heading, whatever its title; a line in fenced code is none. Models write headings in other
// ways as well: "**Verdict:** ready", "Verdict" with a line of dashes below, an item of a list, a row of a table. Such a
// line counts only if it has a title that somebody looks for and that no line with # has. Otherwise an emphasized word
// would cut a section in two.
//
// A parser for Markdown is not used here: to it an emphasized line is no heading, and a fence that is never closed hides
// the rest of the document.

// heading is a line that begins with #.
type heading struct {
	level      int    // how many # the line begins with
	title      string // the text behind the #, including the newline
	start, end int    // the place of the line in the text, including the newline
}

// headings yields the lines that begin with # in order.
func (o outline) headings() iter.Seq[heading] {
	return func(yield func(heading) bool) {
		code := o.code
		for at := 0; at < len(o.text); {
			if o.text[at] == '#' {
				for len(code) > 0 && code[0].end <= at {
					code = code[1:]
				}
				if (len(code) == 0 || at < code[0].start) && !yield(headingAt(o.text, at)) {
					return
				}
			}
			next := strings.Index(o.text[at:], "\n#")
			if next < 0 {
				return
			}
			at += next + 1
		}
	}
}

// headingAt reads the heading whose line begins at start.
func headingAt(text string, start int) heading {
	end := len(text)
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		end = start + i + 1
	}
	title := strings.TrimLeft(text[start:end], "#")
	return heading{level: end - start - len(title), title: title, start: start, end: end}
}

// form is how a heading is written.
type form int

const (
	hashes   form = iota // # Verdict
	indented             // # Verdict, indented or in an item of a list
	setext               // Verdict, and a line of = or - below
	strong               // **Verdict:** ready
	plain                // Verdict: ready
	cell                 // | Verdict | ready |
)

// labelLevel is the level of headings without #. Each heading with # ends their sections.
const labelLevel = 99

// part is a heading and what stands under it.
type part struct {
	form     form
	level    int
	which    int // the title, as an index of those that were looked for; -1: another title
	start    int // where the heading's line begins
	from     int // where the text under it begins, which may be in the heading's own line
	line     int // where the heading's line ends
	end      int // where the next heading begins
	cellOnly bool
}

// text returns what stands under a heading, trimmed. The text begins in the heading's own line if that goes on behind the
// title.
func (o outline) under(p part) string {
	text := strings.TrimSpace(o.text[p.from:max(p.from, p.end)])
	if own := o.own(p); own != "" && strings.TrimSpace(o.text[min(p.line, p.end):p.end]) == "" {
		return own
	}
	return text
}

// own returns what stands behind the title in the heading's own line.
func (o outline) own(p part) string {
	if p.from >= p.line {
		return ""
	}
	return strings.TrimRight(strings.TrimSpace(o.text[p.from:p.line]), " \t#*_|")
}

// parts returns the headings of a text in order, those with other titles than the wanted ones as well. wanted are keys of
// titles; see appendKey.
func (o outline) parts(wanted ...string) []part {
	var all []part
	missing := slices.Clone(wanted)
	for h := range o.headings() {
		p := part{form: hashes, level: h.level, start: h.start, from: h.end, line: h.end}
		value := 0
		if p.which, value = readTitle(h.title, wanted); p.which >= 0 {
			p.from = h.end - len(h.title) + value
			missing[p.which] = ""
		}
		all = append(all, p)
	}
	if slices.ContainsFunc(missing, func(key string) bool { return key != "" }) {
		all = o.withLabels(all, missing)
	}
	for i := range all {
		next := len(o.text)
		if i+1 < len(all) {
			next = all[i+1].start
		}
		all[i].end = next
		if all[i].cellOnly {
			all[i].end = all[i].line
		}
	}
	return all
}

// withLabels adds to the headings with # the lines that are written in place of one and have a missing title. Such a
// section also ends at the next line of its form.
func (o outline) withLabels(hashed []part, missing []string) (all []part) {
	previous := line{}
	for at, text := range o.plainLines() {
		for len(hashed) > 0 && hashed[0].start < at {
			all, hashed = append(all, hashed[0]), hashed[1:]
		}
		l := line{at: at, text: text, end: min(at+len(text)+1, len(o.text))}
		p, ok := o.label(l, previous, missing)
		previous = l
		switch last := len(all) - 1; {
		case !ok, p.which < 0 && (last < 0 || all[last].form != p.form):
			continue
		case last >= 0 && all[last].start == p.start: // an underline below it
			all[last] = p
			continue
		}
		all = append(all, p)
	}
	return append(all, hashed...)
}

// line is text[at:end] with its newline.
type line struct {
	at, end int
	text    string // without the newline
}

// label reads a line that may stand in place of a heading. ok is false if the line does not; p.which is -1 if its title is
// not a missing one.
func (o outline) label(l, previous line, missing []string) (p part, ok bool) {
	_, content, item := listItem(l.text)
	p = part{level: labelLevel, which: -1, start: l.at, from: l.end, line: l.end}
	at := l.end - len(content) - 1 // where the content begins
	if l.at+len(l.text) == l.end {
		at++
	}
	title := content
	switch {
	case isUnderline(l.text) && strings.TrimSpace(previous.text) != "" && previous.end == l.at && o.alone(previous):
		p.form, p.start = setext, previous.at
		p.which, _ = readTitle(previous.text, missing)
		return p, p.which >= 0 || isTitle(previous.text)
	case strings.HasPrefix(content, "#") && (item || strings.HasPrefix(l.text, " ") && !strings.HasPrefix(l.text, "    ")):
		p.form, title = indented, strings.TrimLeft(content, "#")
	case strings.HasPrefix(content, "|"):
		p.form, title = cell, content
	case content == "", content[0] == '>', content[0] == '#', !item && (strings.HasPrefix(l.text, "    ") || strings.HasPrefix(l.text, "\t")):
		return p, false // quoted, or code
	case isStrong(content):
		p.form = strong
	default:
		p.form = plain
	}
	value := 0
	if p.which, value = readTitle(title, missing); p.which < 0 {
		return p, p.form == strong || p.form == indented
	}
	p.from = at + len(content) - len(title) + value
	if p.from >= at+len(content) {
		p.from = l.end
	}
	switch own := o.own(p); {
	case p.form == plain: // a word alone in a line is no heading, unless it has a colon
		return p, own != "" || strings.HasSuffix(strings.TrimSpace(content), ":")
	case p.form == cell:
		p.cellOnly = own != "" && !o.isHeaderRow(l)
		return p, own != ""
	}
	return p, true
}

// isHeaderRow reports whether a row of a table names its columns.
func (o outline) isHeaderRow(l line) bool {
	next, _, _ := strings.Cut(o.text[l.end:], "\n")
	return strings.HasPrefix(strings.TrimSpace(next), "|") && strings.Trim(next, "|:- \t") == ""
}

// alone reports whether a line is a paragraph of its own, so that an underline makes it a heading.
func (o outline) alone(l line) bool {
	before := strings.TrimSuffix(o.text[:l.at], "\n")
	before = before[strings.LastIndexByte(before, '\n')+1:]
	_, _, item := listItem(l.text)
	return !item && (strings.TrimSpace(before) == "" || before[0] == '#') && strings.IndexByte("#|>", strings.TrimSpace(l.text)[0]) < 0
}

// isUnderline reports whether a line makes the one above it a heading.
func isUnderline(text string) bool {
	text = strings.TrimSpace(text)
	return len(text) > 1 && (strings.Trim(text, "=") == "" || strings.Trim(text, "-") == "")
}

// isTitle reports whether a line reads like a title and not like a sentence, below which --- is a rule across the page.
func isTitle(text string) bool {
	text = strings.TrimSpace(text)
	return len(strings.Fields(text)) <= 8 && !strings.ContainsAny(text[len(text)-1:], ".!?;,")
}

// isStrong reports whether a line begins with emphasized words that end it or have a colon.
func isStrong(content string) bool {
	rest := strings.TrimLeft(content, "*_")
	if rest == content || rest == "" || unicode.IsSpace(rune(rest[0])) {
		return false
	}
	mark := content[:len(content)-len(rest)]
	title, behind, ok := strings.Cut(rest, mark)
	return ok && (strings.TrimSpace(behind) == "" || strings.HasSuffix(strings.TrimSpace(title), ":") || strings.HasPrefix(strings.TrimSpace(behind), ":"))
}

// numbering is what a title may begin with: "1. ", "2) ", "3.1 ", "IV. ", "Step 2: ".
var numbering = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^\pL\pN]*(?:(?i:step|part|section|phase|schritt|teil)[ \t]+)?(?:\pN+(?:\.\pN+)*[.):\]]?|[IVXivx]+[.)]|\pL[.)])[^\pL\pN]*`)
})

// readTitle looks for a title at the start of the text of a heading. which is its index among the keys, -1 if there is
// none. value is where the text behind the title begins, len(text) if nothing follows.
func readTitle(text string, keys []string) (which, value int) {
	number := numberEnd(text)
	for i, from := range [3]int{0, number, leadEnd(text, number)} {
		if i > 0 && from == 0 {
			continue
		}
		for which, key := range keys {
			if key == "" {
				continue
			}
			if n, ok := titleEnd(text[from:], key); ok {
				if value, ok = behind(text, from+n); ok {
					return which, value
				}
			}
		}
	}
	return -1, 0
}

// numberEnd returns where the number at the start of a title ends; 0: there is none.
func numberEnd(text string) int {
	if !strings.ContainsFunc(text[:min(len(text), 24)], func(r rune) bool { return r >= '0' && r <= '9' || r == '.' || r == ')' || r > 0xff }) {
		return 0 // the expression takes long
	}
	return len(numbering().FindString(text))
}

// leads are words before a title that don't make it another one: "Final Verdict".
var leads = set("my our final overall")

// leadEnd returns where the title begins behind leads that begin at from; 0: there are none.
func leadEnd(text string, from int) (end int) {
	for {
		start := strings.IndexFunc(text[from:], inKey)
		if start < 0 {
			return end
		}
		word, _, blank := strings.Cut(text[from+start:], " ")
		if !blank || !leads[strings.ToLower(word)] {
			return end
		}
		from += start + len(word)
		end = from
	}
}

// titleEnd returns where a title with that key ends, if text begins with one.
func titleEnd(text, key string) (end int, ok bool) {
	var buf [16]byte
	for at, r := range text {
		if key == "" {
			return at, !inKey(r)
		}
		letter := appendRune(buf[:0], r)
		if !strings.HasPrefix(key, string(letter)) {
			return 0, false
		}
		key = key[len(letter):]
	}
	return len(text), key == ""
}

// behind returns where the text behind a title that ends at from begins. ok is false if the words go on, so that the title
// is a longer one.
func behind(text string, from int) (value int, ok bool) {
	rest := text[from:]
	if !strings.ContainsFunc(rest, inKey) {
		return len(text), true
	}
	closed, separated, blank := false, false, false
	for at := 0; at < len(rest); {
		r, size := utf8.DecodeRuneInString(rest[at:])
		switch {
		case unicode.IsSpace(r):
			blank = true
		case strings.ContainsRune("*_`~\"'”“»«‘’„>", r):
			closed = closed || strings.ContainsRune("*_", r)
		case r == '(' && !separated:
			close := strings.IndexByte(rest[at:], ')')
			if close < 0 {
				return 0, false
			}
			if size = close + 1; !strings.ContainsFunc(rest[at+size:], inKey) {
				return len(text), true
			}
		case r == '-' && !separated:
			after, _ := utf8.DecodeRuneInString(rest[at+size:])
			if !blank || !unicode.IsSpace(after) && after != '-' && after != '>' {
				return 0, false
			}
			separated = true
		case strings.ContainsRune(":：—–→=|.!?-", r), unicode.In(r, unicode.So, unicode.Sk), r == '\ufe0f', r == '\u200d':
			separated = true
		case separated || closed && opened(text):
			return from + at, true
		default:
			return 0, false
		}
		at += size
	}
	return len(text), true
}

// opened reports whether a text begins with emphasis, so that the mark behind a title closes it.
func opened(text string) bool {
	text = strings.TrimLeftFunc(text, func(r rune) bool { return r != '*' && r != '_' && !inKey(r) })
	return strings.HasPrefix(text, "*") || strings.HasPrefix(text, "_")
}

// inKey reports whether a character counts when titles are compared: letters, digits and accents.
func inKey(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) && (r < '\ufe00' || r > '\ufe0f')
}

// appendRune appends what counts of a character, in lower case and decomposed.
func appendRune(key []byte, r rune) []byte {
	switch {
	case r < utf8.RuneSelf && inKey(r):
		return append(key, byte(unicode.ToLower(r)))
	case r < utf8.RuneSelf:
		return key
	}
	for _, part := range norm.NFKD.String(string(r)) {
		if inKey(part) {
			key = utf8.AppendRune(key, unicode.ToLower(part))
		}
	}
	return key
}

// appendKey appends the key of a title: its letters, digits and accents in lower case, whichever form of Unicode they have.
// Titles with equal keys count as equal.
func appendKey(key []byte, title string) []byte {
	for _, r := range title {
		key = appendRune(key, r)
	}
	return key
}
