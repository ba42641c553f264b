package daemon

import (
	"bytes"
	"fmt"
	"strings"
)

// originalRequest heads what the run was asked for, behind what a step is told besides.
const originalRequest = "## Original request"

// stepPrompt is what the agent of a step is given, the same at each attempt. The first step gets the
// request; those after it get the fields of what the step before has left, what the template asks of
// them and then the request. Where no fields could be extracted they get that text alone, byte for
// byte. A person's comment on the approval comes last.
func stepPrompt(p *Pipeline, s *Step) string {
	text := request(p, s)
	if prev := p.before(s); prev != nil {
		switch left := prev.LatestHandoff; {
		case left.Metadata != nil:
			text = left.Metadata.Header(prev.AgentName) + "\n\n" + asked(p, s)
		case left.ContentMD != "":
			text = left.ContentMD
		}
	}
	if s.Comment != "" {
		text += "\n\n[Approval note: " + s.Comment + "]"
	}
	return text
}

// request is what a step is told that has nothing before it.
func request(p *Pipeline, s *Step) string {
	if s.Prompt == "" {
		return p.Prompt
	}
	return asked(p, s)
}

// asked is what the template asks of a step, and what it is for.
func asked(p *Pipeline, s *Step) string {
	text := originalRequest + "\n\n" + p.Prompt
	if s.Prompt != "" {
		text = s.Prompt + "\n\n" + text
	}
	return text
}

// placeInPipeline tells a step's agent, beside its skill, where in the run it stands and what becomes of its
// last message.
func placeInPipeline(p *Pipeline, s *Step) (string, error) {
	var b bytes.Buffer
	err := prompts().ExecuteTemplate(&b, "step.md", map[string]any{
		"Run": p.ID, "Title": p.Title, "N": s.OrderIndex + 1, "Of": len(p.Steps), "Description": strings.TrimSpace(s.Description),
		"Last": s.OrderIndex == len(p.Steps)-1,
	})
	if err != nil {
		return "", fmt.Errorf("prompt step: %w", err)
	}
	return b.String(), nil
}
