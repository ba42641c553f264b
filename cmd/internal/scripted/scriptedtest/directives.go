package scriptedtest

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// directives are the words in a prompt that steer the turn; doc.go describes them.
type directives struct {
	hold      string
	ask       bool
	tokens    int
	decisions []string
	say       string
	report    bool
}

var (
	// decide matches a decision. It ends at the end of the line or at the next directive.
	decide = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`@decide +([^\n]+?)(?: *(?:$|\n)| +@[a-z]+\b)`) })

	// passedOn matches texts in which directives do not count. These are the paragraphs that a pipeline's prompt repeats
	// from the previous step, and the texts that an agent's answer quotes from a prompt.
	passedOn = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^## Handoff from previous step|\*\*(?:What was done|Decisions made|Open questions|Your task)\*\*:.*?(?:\n\n|$)|“[^\n]*?”`)
	})
)

// readDirectives finds the directives of a prompt.
func readDirectives(text string) directives {
	var d directives
	asked := passedOn().ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)) })
	d.readWords(strings.Fields(asked))
	for from := 0; ; {
		at := decide().FindStringSubmatchIndex(asked[from:])
		if at == nil {
			break
		}
		d.decisions = append(d.decisions, text[from+at[2]:from+at[3]])
		from += at[3]
	}
	if at := strings.Index(asked, "@say "); at >= 0 {
		d.say, _, _ = strings.Cut(text[at+len("@say "):], "\n\n## Original request\n") // the pipeline's request
	}
	return d
}

// answers reports whether a directive dictates the answer.
func (d directives) answers() bool { return d.say != "" || d.report }

func (d *directives) readWords(words []string) {
	for i, word := range words {
		argument := ""
		if i+1 < len(words) {
			argument = strings.Trim(words[i+1], "\"'`,;")
		}
		switch word {
		case "@hold":
			d.hold = argument
		case "@ask":
			d.ask = true
		case "@tokens":
			d.tokens, _ = strconv.Atoi(argument)
		case "@report":
			d.report = true
		}
	}
}
