package pipelines

import (
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// originalRequest is the heading of the pipeline's prompt in the prompt of a step.
const originalRequest = "## Original request"

// stepPrompt returns the prompt of a step's agent, which is the same at each attempt. A step with no output before it, or
// an empty one, gets the template's prompt for the step, if there is one, and the pipeline's prompt. Any other step gets
// the fields of that output, followed by these two prompts. If that output has no fields, the step gets the output alone,
// byte for byte but for what [runtimes.Unmentioned] takes the sting from. A person's comment on the approval comes last.
func stepPrompt(p *daemon.Pipeline, s *daemon.Step) string {
	text := firstPrompt(p, s)
	if prev := p.Before(s); prev != nil {
		switch left := prev.LatestHandoff; {
		case left.Metadata != nil:
			text = runtimes.Unmentioned((*daemon.Structured)(left.Metadata).Header(prev.AgentName)) + "\n\n" + asked(p, s)
		case left.ContentMD != "":
			text = runtimes.Unmentioned(left.ContentMD)
		}
	}
	if s.Comment != "" {
		text += "\n\n[Approval note: " + s.Comment + "]"
	}
	return text
}

// firstPrompt returns the prompt of a step that has no output before it.
func firstPrompt(p *daemon.Pipeline, s *daemon.Step) string {
	if s.Prompt == "" {
		return p.Prompt
	}
	return asked(p, s)
}

// asked returns the template's prompt for a step, followed by the pipeline's prompt.
func asked(p *daemon.Pipeline, s *daemon.Step) string {
	text := originalRequest + "\n\n" + p.Prompt
	if s.Prompt != "" {
		text = s.Prompt + "\n\n" + text
	}
	return text
}
