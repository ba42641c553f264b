package daemon

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

const leftOrderly = "Hello.\n\n## What Was Done\n\nThe roof.\n\n## Decisions Made\n\n- Slate, for it lasts.\n\n## Next Agent Context\n\nLook at the chimney.\n"

// left returns the output of a step, as the engine records it.
func left(text string) *StepHandoff {
	out := &StepHandoff{ContentMD: text}
	if fields, ok := data.Extract(text); ok {
		out.Metadata = (*Metadata)(&fields)
	}
	return out
}

func TestStepPromptHasTheOutputBeforeItAndTheRequest(t *testing.T) {
	t.Parallel()
	const header = "## Handoff from previous step (developer)\n\n**What was done**: The roof.\n\n**Decisions made**:\n- Slate, for it lasts.\n\n**Your task**: Look at the chimney."
	const raw = "  no headings at all\r\n\n"
	done := func(name, text string) Step {
		return Step{AgentName: name, Status: StepDone, LatestHandoff: left(text)}
	}
	for _, c := range []struct {
		name   string
		before []Step
		step   Step
		want   string
	}{
		{"the first", nil, Step{}, "Mend it.\n"},
		{"the first with words of its own", nil, Step{Prompt: "Find the cause."}, "Find the cause.\n\n## Original request\n\nMend it.\n"},
		{"fields", []Step{done("developer", leftOrderly)}, Step{}, header + "\n\n## Original request\n\nMend it.\n"},
		{"fields and words", []Step{done("developer", leftOrderly)}, Step{Prompt: "Look."}, header + "\n\nLook.\n\n## Original request\n\nMend it.\n"},
		{"no fields: that text alone", []Step{done("developer", raw)}, Step{Prompt: "Look."}, raw},
		{"nothing: as if it were the first", []Step{done("developer", "")}, Step{Prompt: "Look."}, "Look.\n\n## Original request\n\nMend it.\n"},
		{"the newest counts", []Step{done("architect", raw), done("developer", leftOrderly)}, Step{}, header + "\n\n## Original request\n\nMend it.\n"},
		{"a skipped one does not", []Step{done("developer", leftOrderly), {AgentName: "qa", Status: StepSkipped}}, Step{}, header + "\n\n## Original request\n\nMend it.\n"},
		{"approved with a word", []Step{done("developer", raw)}, Step{Comment: "go on,\nbut slowly"}, raw + "\n\n[Approval note: go on,\nbut slowly]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.step.OrderIndex = len(c.before)
			p := &Pipeline{Prompt: "Mend it.\n", Steps: append(c.before, c.step)}
			s := &p.Steps[len(c.before)]
			if got := stepPrompt(p, s); got != c.want {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestStepIsToldItsPlaceInThePipeline(t *testing.T) {
	t.Parallel()
	p := &Pipeline{ID: 7, Title: "The roof", Steps: []Step{{Number: 1}, {OrderIndex: 1, Number: 2, Description: " mends it "}}}
	for i, want := range []string{`step 1 of 2 of the pipeline run 7, "The roof".` + "\n", `step 2 of 2 of the pipeline run 7, "The roof". Your part: mends it` + "\n"} {
		text, err := placeInPipeline(p, &p.Steps[i], []string{"Coverage Config"})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, want) {
			t.Errorf("step %d is told\n%s\nwant it to contain %q", i+1, text, want)
		}
		last := strings.Contains(text, "It is the result of the run")
		if last != (i == 1) {
			t.Errorf("step %d is told that it is the last: %t", i+1, last)
		}
		for _, heading := range []string{"What Was Done", "Decisions Made", "Open Questions", "Next Agent Context", "Coverage Config"} {
			if !strings.Contains(text, "**## "+heading+"**") {
				t.Errorf("step %d is not told of the heading %s", i+1, heading)
			}
		}
	}
}

func TestFirstPromptIsChangedOnlyIfItWouldBeACommand(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Mend it.", "  Mend\tit.\r\n\n", "!ls", "#1", "exit now", "- /exit", leftOrderly} {
		if got := runtimes.FirstPrompt(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range []string{"/exit", "/clear all of it\nand more", "exit", " quit\n", ":wq!", "\u200b/exit", "exit\u200b", "/home/x \u200b is broken", "\ufeff :q", "\u3164/exit", "\x1b/exit"} {
		if got := runtimes.FirstPrompt(text); got != "Request:\n\n"+text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
