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
	// placeOfStep is how the system prompt of a pipeline's agent says which step it is.
	placeOfStep = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^You are step (\d+) of \d+ `) })

	// handedOn begins the prompt of a step that has another one before it.
	handedOn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^## Handoff from previous step \(([^)\n]+)\)\n`) })

	// approvalNote ends the prompt of a step that was approved with a comment.
	approvalNote = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\n\n\[Approval note: (.*)\]\s*$`) })
)

// originalRequest heads the request of the pipeline, below the prompt of the step.
const originalRequest = "\n\n## Original request\n"

// Step is the number of the agent's step in its pipeline; "" outside pipelines.
func (opt Options) Step() string {
	if at := placeOfStep().FindStringSubmatch(opt.SystemPrompt); at != nil {
		return at[1]
	}
	return ""
}

// Report is a final message under the four headings, one paragraph each. It names the original request or,
// where the prompt has none, the prompt's first line, and what else a step of a pipeline is told.
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
