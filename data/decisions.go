package data

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxSummary is the length of the longest summary of a decision, in characters.
const maxSummary = 200

// ParseDecisions returns the decisions in the section "Decisions Made" of a document. agent is the agent that wrote the
// section, and at is the time of its decisions. Each item of the section's list, with everything up to the next item,
// is one decision; a section without a list is one decision. An item such as "none" is not a decision.
func ParseDecisions(section, agent string, at time.Time) []Decision {
	var all []Decision
	for _, text := range topItems(readOutline(section)) {
		if saysNone(text) {
			continue
		}
		d := decisionOf(text)
		d.Agent, d.Timestamp, d.RelatedArtifacts = agent, at, fileNamesIn(text)
		all = append(all, d)
	}
	return all
}

// topItems returns the items of the outermost list without their markers, or the whole text if it has no list.
func topItems(o outline) []string {
	var items []string
	base, from, depth := 0, -1, 0
	for at, line := range o.plainLines() {
		indent, content, item := listItem(line)
		// Skip items of inner lists. An indent of two is enough for an inner list: CommonMark requires three under "1. ",
		// but people and agents write two.
		if !item || from >= 0 && indent >= base+2 {
			continue
		}
		if from >= 0 {
			items = append(items, dedent(o.text[from:at], depth))
		}
		base, from = indent, at+len(line)-len(content)
		depth = indent + len(strings.TrimLeft(line, " \t")) - len(content)
	}
	if from < 0 {
		return []string{strings.TrimSpace(o.text)}
	}
	return append(items, dedent(o.text[from:], depth))
}

// dedent removes up to n blanks from the start of each line.
func dedent(text string, n int) string {
	var b strings.Builder
	for _, line := range lines(text) {
		rest := strings.TrimLeft(line, " \t")
		b.WriteString(line[min(n, len(line)-len(rest)):])
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

// none are the keys of the texts that agents write if they made no decisions; see appendKey.
var none = []string{"", "na", "none", "nothing", "noneyet", "nonemade", "nonesofar", "nodecisions", "nodecisionsmade",
	"nodecisionsyet", "nonewdecisions", "notapplicable", "nodecisionsweremade", "tbd"}

func saysNone(text string) bool {
	return len(text) < 64 && slices.Contains(none, string(appendKey(nil, text)))
}

// decisionOf makes a Decision from its text, with a Summary and a Rationale.
func decisionOf(text string) Decision {
	head, tail := firstParagraph(text)
	summary, rest := splitSummary(withoutEmphasis(label().ReplaceAllString(head, "")))
	rest = strings.TrimSpace(rest + "\n" + tail)
	return Decision{Summary: summary, Rationale: reason().ReplaceAllString(rest, "")}
}

var (
	label = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^[*_]*(decision|decided)( #?[0-9]+)?[*_]*:[*_]*\s+`)
	})
	reason = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^([-*+]\s+)?[*_]*(rationale|reason|why|because)[*_]*:[*_]*\s*`)
	})
)

// firstParagraph returns the first paragraph of a text as one line, and the rest of the text.
func firstParagraph(text string) (head, tail string) {
	for at, line := range lines(text) {
		_, _, item := listItem(line)
		_, fence := readFence(line)
		if at > 0 && (item || fence || strings.TrimSpace(line) == "") {
			return strings.Join(strings.Fields(text[:at]), " "), strings.TrimSpace(text[at:])
		}
	}
	return strings.Join(strings.Fields(text), " "), ""
}

// separators can come between a decision and its reason.
var separators = []string{" because ", " — ", " – ", " -- ", " - ", ": ", "; ", ". ", "! ", "? "}

// splitSummary splits a line into the decision itself and the rest. It cuts at the first separator outside parentheses
// and code, or where the summary would get too long.
func splitSummary(line string) (summary, rest string) {
	depth, code := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '`':
			code = !code
		case code:
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		}
		if code || depth > 0 || i == 0 {
			continue
		}
		for _, sep := range separators {
			if strings.HasPrefix(line[i:], sep) && splitsAt(line[:i], sep, line[i+len(sep):]) {
				rest = line[i+len(sep):]
				if sep == " because " && strings.HasPrefix(rest, "of ") {
					rest = sep[1:] + rest
				}
				return shorten(line[:i], rest)
			}
		}
	}
	return shorten(line, "")
}

// splitsAt reports whether splitSummary may cut at the separator sep. It may not cut at a period after an abbreviation or
// before a small letter.
func splitsAt(before, sep, after string) bool {
	if sep != ". " {
		return true
	}
	last := before[strings.LastIndexByte(before, ' ')+1:]
	next, _ := utf8.DecodeRuneInString(after)
	return !abbreviations[strings.ToLower(last)+"."] && !unicode.IsLower(next)
}

// shorten cuts a summary that is too long between two words, and puts the cut part at the start of the rest.
func shorten(summary, rest string) (string, string) {
	summary = strings.TrimRight(summary, " .:;,")
	if utf8.RuneCountInString(summary) <= maxSummary {
		return summary, rest
	}
	end := 0 // in bytes
	for range maxSummary - 1 {
		_, n := utf8.DecodeRuneInString(summary[end:])
		end += n
	}
	if i := strings.LastIndexByte(summary[:end], ' '); i > end/2 {
		end = i
	}
	return strings.TrimRight(summary[:end], " ") + "…", strings.TrimSpace("…" + strings.TrimSpace(summary[end:]) + "\n" + rest)
}

// underlined matches emphasis by _, but not the _ of a name such as __init__.py.
var underlined = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[\s(])_{1,3}([^_\s](?:[^_]*[^_\s])?)_{1,3}([\s,;:!?)]|\.\s|\.?$)`)
})

// withoutEmphasis removes the marks of bold and italic text outside code.
func withoutEmphasis(line string) string {
	var b strings.Builder
	code := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c == '`' {
			code = !code
		}
		if c == '*' && !code {
			end := i + len(line[i:]) - len(strings.TrimLeft(line[i:], "*"))
			// The * of a product ("a * b") and of a glob ("*.go") stays.
			blankBefore := i == 0 || line[i-1] == ' '
			blankAfter := end == len(line) || line[end] == ' '
			if !(blankBefore && blankAfter) && !(end < len(line) && strings.IndexByte("./", line[end]) >= 0 && blankBefore) {
				i = end - 1
				continue
			}
			b.WriteString(line[i:end])
			i = end - 1
			continue
		}
		b.WriteByte(c)
	}
	if code || !strings.Contains(b.String(), "_") {
		return b.String()
	}
	return underlined().ReplaceAllString(b.String(), "$1$2$3")
}
