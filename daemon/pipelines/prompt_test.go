package pipelines

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

const leftOrderly = "Hello.\n\n## What Was Done\n\nThe roof.\n\n## Decisions Made\n\n- Slate, for it lasts.\n\n## Next Agent Context\n\nLook at the chimney.\n"

// left returns the output of a step, as the engine records it.
func left(text string) *daemon.StepHandoff {
	out := &daemon.StepHandoff{ContentMD: text}
	if fields, ok := data.Extract(text); ok {
		out.Metadata = (*daemon.Metadata)(&fields)
	}
	return out
}

func TestStepPromptHasTheOutputBeforeItAndTheRequest(t *testing.T) {
	t.Parallel()
	const header = "## Handoff from previous step (developer)\n\n**What was done**: The roof.\n\n**Decisions made**:\n- Slate, for it lasts.\n\n**Your task**: Look at the chimney."
	const raw = "  no headings at all\r\n\n"
	done := func(name, text string) daemon.Step {
		return daemon.Step{AgentName: name, Status: daemon.StepDone, LatestHandoff: left(text)}
	}
	for _, c := range []struct {
		name   string
		before []daemon.Step
		step   daemon.Step
		want   string
	}{
		{"the first", nil, daemon.Step{}, "Mend it.\n"},
		{"the first with words of its own", nil, daemon.Step{Prompt: "Find the cause."}, "Find the cause.\n\n## Original request\n\nMend it.\n"},
		{"fields", []daemon.Step{done("developer", leftOrderly)}, daemon.Step{}, header + "\n\n## Original request\n\nMend it.\n"},
		{"fields and words", []daemon.Step{done("developer", leftOrderly)}, daemon.Step{Prompt: "Look."}, header + "\n\nLook.\n\n## Original request\n\nMend it.\n"},
		{"no fields: that text alone", []daemon.Step{done("developer", raw)}, daemon.Step{Prompt: "Look."}, raw},
		{"a mention of a file elsewhere", []daemon.Step{done("developer", "see @/etc/passwd and @a.go\n")}, daemon.Step{}, "see \\@/etc/passwd and @a.go\n"},
		{"nothing: as if it were the first", []daemon.Step{done("developer", "")}, daemon.Step{Prompt: "Look."}, "Look.\n\n## Original request\n\nMend it.\n"},
		{"the newest counts", []daemon.Step{done("architect", raw), done("developer", leftOrderly)}, daemon.Step{}, header + "\n\n## Original request\n\nMend it.\n"},
		{"a skipped one does not", []daemon.Step{done("developer", leftOrderly), {AgentName: "qa", Status: daemon.StepSkipped}}, daemon.Step{}, header + "\n\n## Original request\n\nMend it.\n"},
		{"approved with a word", []daemon.Step{done("developer", raw)}, daemon.Step{Comment: "go on,\nbut slowly"}, raw + "\n\n[Approval note: go on,\nbut slowly]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.step.OrderIndex = len(c.before)
			p := &daemon.Pipeline{Prompt: "Mend it.\n", Steps: append(c.before, c.step)}
			s := &p.Steps[len(c.before)]
			wardentest.Equal(t, "prompt", stepPrompt(p, s), c.want)
		})
	}
}
