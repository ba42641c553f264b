package daemon

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/personas"
)

// originalRequest is the heading of the pipeline's prompt in the prompt of a step.
const originalRequest = "## Original request"

// stepPrompt returns the prompt of a step's agent, which is the same at each attempt. A step with no output before it, or
// an empty one, gets the template's prompt for the step, if there is one, and the pipeline's prompt. Any other step gets
// the fields of that output, followed by these two prompts. If that output has no fields, the step gets the output alone,
// byte for byte. A person's comment on the approval comes last.
func stepPrompt(p *Pipeline, s *Step) string {
	text := firstPrompt(p, s)
	if prev := p.before(s); prev != nil {
		switch left := prev.LatestHandoff; {
		case left.Metadata != nil:
			text = (*Structured)(left.Metadata).Header(prev.AgentName) + "\n\n" + asked(p, s)
		case left.ContentMD != "":
			text = left.ContentMD
		}
	}
	if s.Comment != "" {
		text += "\n\n[Approval note: " + s.Comment + "]"
	}
	return text
}

// firstPrompt returns the prompt of a step that has no output before it.
func firstPrompt(p *Pipeline, s *Step) string {
	if s.Prompt == "" {
		return p.Prompt
	}
	return asked(p, s)
}

// asked returns the template's prompt for a step, followed by the pipeline's prompt.
func asked(p *Pipeline, s *Step) string {
	text := originalRequest + "\n\n" + p.Prompt
	if s.Prompt != "" {
		text = s.Prompt + "\n\n" + text
	}
	return text
}

// placeInPipeline returns the text that follows the skill of a step's agent. It tells the agent which step it works on
// and who gets its last message. headings are those that the next step's role requires beside the four standard ones.
func placeInPipeline(p *Pipeline, s *Step, headings []string) (string, error) {
	var b bytes.Buffer
	err := prompts().ExecuteTemplate(&b, "step.md", map[string]any{
		"Run": p.ID, "Title": p.Title, "N": s.Number, "Of": p.Steps[len(p.Steps)-1].Number, "Description": strings.TrimSpace(s.Description),
		"Last": s.OrderIndex == len(p.Steps)-1 && len(s.Next) == 0, "Headings": headings,
		"Round": p.roundWords(s), "Rules": p.ruleWords(s), "End": s.OrderIndex == len(p.Steps)-1, "Stop": s.Otherwise == personas.Stop,
	})
	if err != nil {
		return "", fmt.Errorf("prompt step: %w", err)
	}
	return b.String(), nil
}
