package scripted

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// directives are the words in a prompt that steer the turn; doc.go describes them.
type directives struct {
	busy            time.Duration
	hold            string
	background, ask bool
	compact         bool
	tokens          int
	edits           []string
	decisions       []string
	say             string
	raw             string
	report          bool
}

var (
	// decide takes a decision up to the end of its line or the next directive.
	decide = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`@decide +([^\n]+?)(?: *(?:$|\n)| +@[a-z]+\b)`) })

	// onlyFor is a line whose directives are one agent's.
	onlyFor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^@step +(\S+?):? +(.*?)\r?$\n?`) })

	// passedOn is what a prompt of a pipeline repeats of the step before, by the paragraph, and what an
	// answer of ours quotes.
	passedOn = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^## Handoff from previous step|\*\*(?:What was done|Decisions made|Open questions|Your task)\*\*:.*?(?:\n\n|$)|“[^\n]*?”`)
	})

	// placeOfStep is how an agent of a pipeline is told which step it is.
	placeOfStep = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^You are step (\d+) of \d+ `) })
)

// originalRequest heads what a pipeline was asked for, below what the step is asked.
const originalRequest = "\n\n## Original request\n"

// means reports whether the name in a directive or a misbehaviour is this agent's: its own name begins
// with it, or it is the number of its step.
func (opt options) means(name string) bool {
	at := placeOfStep().FindStringSubmatch(opt.systemPrompt)
	return at != nil && at[1] == name || name != "" && strings.HasPrefix(opt.name, name)
}

// directives are those of a prompt that count for this agent. Those of its own lines come last, and win.
func (opt options) directives(prompt string) directives {
	var d directives
	d.read(onlyFor().ReplaceAllString(prompt, ""))
	for _, line := range onlyFor().FindAllStringSubmatch(prompt, -1) {
		if opt.means(line[1]) {
			d.read(line[2])
		}
	}
	return d
}

// read adds the directives of a text.
func (d *directives) read(text string) {
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
		d.say, _, _ = strings.Cut(text[at+len("@say "):], originalRequest)
	}
}

func (d *directives) readWords(words []string) {
	for i, word := range words {
		argument := ""
		if i+1 < len(words) {
			argument = strings.Trim(words[i+1], "\"'`,;")
		}
		switch word {
		case "@busy":
			d.busy, _ = parseDuration(argument)
		case "@hold":
			d.hold = argument
		case "@background":
			d.background = true
		case "@ask":
			d.ask = true
		case "@compact":
			d.compact = true
		case "@tokens":
			d.tokens, _ = strconv.Atoi(argument)
		case "@edit":
			if argument != "" {
				d.edits = append(d.edits, argument)
			}
		case "@raw":
			d.raw = argument
		case "@report":
			d.report = true
		}
	}
}
