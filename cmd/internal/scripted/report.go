package scripted

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon/actor"
)

var (
	// placeOfStep matches the sentence of a system prompt that says which step of a pipeline the agent is.
	placeOfStep = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^You are step (\d+) of \d+ `) })

	// handedOn matches the beginning of a step's prompt if the step follows another step.
	handedOn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^## Handoff from previous step \(([^)\n]+)\)\n`) })

	// approvalNote matches the end of a step's prompt if a person approved the step with a comment.
	approvalNote = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\n\n\[Approval note: (.*)\]\s*$`) })
)

// originalRequest is the heading of the pipeline's request, below the prompt of the step.
const originalRequest = "\n\n## Original request\n"

// Step returns the number of the agent's step in its pipeline. Outside pipelines it returns "".
func (opt Options) Step() string {
	if at := placeOfStep().FindStringSubmatch(opt.SystemPrompt); at != nil {
		return at[1]
	}
	return ""
}

// Report returns a final message under the four headings, one paragraph each. It names the original request or, if the
// prompt has none, the prompt's first line. It also names the previous step and the approval note that the prompt holds.
func (a *Agent) Report(prompt string) string {
	m, before := a.Memory, ""
	decisions := []string{"Work only inside " + a.Dir + ": nothing outside belongs to this task"}
	if found := handedOn().FindStringSubmatch(prompt); found != nil {
		before = "Began with what the " + found[1] + " has left. "
	}
	if at := approvalNote().FindStringSubmatchIndex(prompt); at != nil {
		decisions = append(decisions, "The approval note goes first: “"+actor.Quote(prompt[at[2]:at[3]], 100)+"”")
		prompt = prompt[:at[0]]
	}
	if at := strings.LastIndex(prompt, originalRequest); at >= 0 {
		prompt = prompt[at+len(originalRequest):]
	}
	first, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	asked := strings.TrimSuffix(actor.Quote(first, 100), ".")
	modified := slices.Compact(slices.Sorted(slices.Values(m.Edited)))
	var w strings.Builder
	fmt.Fprintf(&w, "## What Was Done\n\n%sLooked into “%s”. Files modified: %s.\n\n", before, asked, actor.OrNone(modified))
	fmt.Fprintf(&w, "## Decisions Made\n\n%s\n", actor.List(append(decisions, m.Decisions...), ""))
	fmt.Fprintf(&w, "## Open Questions\n\n- Is that all that the user expects?\n\n")
	fmt.Fprintf(&w, "## Next Agent Context\n\nGo on with the request from there. Files here: %s.\n", actor.OrNone(actor.ListFiles(a.Dir)))
	return w.String()
}
