package stories

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// quoted is a text as a template holds it in one line.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestPromptThatLooksLikeACommandIsAPrompt: This holds for the request and for the output that a step leaves to the
// next one.
func TestPromptThatLooksLikeACommandIsAPrompt(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("two", "developer", "reviewer")
		r.start()
		type told struct {
			step int
			text string
		}
		wants := map[int64]told{}
		for _, text := range []string{"/exit", "exit", ":wq", "/clear now", "\u200b/exit"} {
			wants[r.startPipeline("two", text).ID] = told{1, text}
			wants[r.startPipeline("two", "@say "+text).ID] = told{2, text}
		}
		wants[r.startPipeline("two", "\n /exit now\t").ID] = told{1, "\n /exit now\t"}
		for id, want := range wants {
			p := r.awaitPipeline(id, daemon.PipelineDone)
			if got := r.output(p, 1); want.step == 2 && got != want.text {
				t.Errorf("step 1 left %q, want %q", got, want.text)
			}
			r.wantOnlyPrompt(p.Steps[want.step-1].AgentIDs[0], "Request:\n\n"+want.text)
		}
	})
}

const (
	structured = "# Report\n\n## What Was Done\n\nThe roof is mended.\n\n## Decisions Made\n- Slate: it lasts\n- No gutter: too dear\n\n## Open Questions\n\nWho pays?\n\n## Next Agent Context\n\nLook at the chimney."
	asHeader   = "## Handoff from previous step (developer)\n\n**What was done**: The roof is mended.\n\n**Decisions made**:\n- Slate: it lasts\n- No gutter: too dear\n\n**Open questions**:\nWho pays?\n\n**Your task**: Look at the chimney."
)

// TestStepPromptHasHeaderPromptAndRequest: The prompt is the header, the step's own prompt and the request, byte for
// byte.
func TestStepPromptHasHeaderPromptAndRequest(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("chain", "developer | prompt: "+quoted("Work first."), "reviewer | prompt: "+quoted("Look closely,\nat \"all\" of it."), "tester")
		r.writeTemplate("bare", "developer", "reviewer", "tester | prompt: Try it.")
		r.start()

		request := "Mend the roof.\n\n@say " + structured
		p := r.awaitPipeline(r.startPipeline("bare", request).ID, daemon.PipelineDone)
		r.wantOnlyPrompt(p.Steps[0].AgentIDs[0], request)
		if got := r.output(p, 1); got != structured {
			t.Errorf("step 1 left %q, want %q", got, structured)
		}
		second := asHeader + "\n\n## Original request\n\n" + request
		r.wantOnlyPrompt(p.Steps[1].AgentIDs[0], second)
		third := strings.Replace(asHeader, "(developer)", "(reviewer)", 1) + "\n\nTry it.\n\n## Original request\n\n" + request
		r.wantOnlyPrompt(p.Steps[2].AgentIDs[0], third)

		p = r.awaitPipeline(r.startPipeline("chain", request).ID, daemon.PipelineDone)
		r.wantOnlyPrompt(p.Steps[0].AgentIDs[0], "Work first.\n\n## Original request\n\n"+request)
		r.wantOnlyPrompt(p.Steps[1].AgentIDs[0], asHeader+"\n\nLook closely,\nat \"all\" of it.\n\n## Original request\n\n"+request)

		// Without fields the prompt is the text alone, without the step's prompt and the request.
		raw := "No heading.\r\n\tJust \"words\"\u00a0— and  blanks"
		p = r.awaitPipeline(r.startPipeline("chain", "@say "+raw).ID, daemon.PipelineDone)
		if got := r.output(p, 1); got != raw {
			t.Errorf("step 1 left %q, want %q", got, raw)
		}
		r.wantOnlyPrompt(p.Steps[1].AgentIDs[0], raw)
	})
}

// TestResumedStepGetsTheSamePrompt: A skipped step is left out, the approval's comment comes last, and a second
// attempt gets exactly the same bytes.
func TestResumedStepGetsTheSamePrompt(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("gated", "developer", "nobody-yet", "reviewer | approval: true | prompt: Look closely.")
		r.start()
		request := "Mend the roof.\n@say " + structured
		p := r.startPipeline("gated", request)
		r.awaitPipeline(p.ID, daemon.PipelineFailed)
		if _, err := r.client.ResumePipeline(t.Context(), p.ID, true); err != nil {
			t.Fatal(err)
		}
		r.wantSteps(r.awaitPipeline(p.ID, daemon.PipelineWaiting), "done skipped pending")
		r.misbehave("api-error")
		if _, err := r.client.ApprovePipeline(t.Context(), p.ID, pipelines.Decision{Comment: "Mind the \"chimney\",\nand $(be) quick."}); err != nil {
			t.Fatal(err)
		}
		r.awaitPipeline(p.ID, daemon.PipelineFailed)
		want := asHeader + "\n\nLook closely.\n\n## Original request\n\n" + request + "\n\n[Approval note: Mind the \"chimney\",\nand $(be) quick.]"
		if got := r.stepInput(p.ID, 3); got != want {
			t.Errorf("step 3 is given %q, want %q", got, want)
		}
		r.misbehave("")
		if _, err := r.client.ResumePipeline(t.Context(), p.ID, false); err != nil {
			t.Fatal(err)
		}
		p = r.awaitPipeline(p.ID, daemon.PipelineDone)
		r.wantSteps(p, "done skipped done")
		if ids := p.Steps[2].AgentIDs; len(ids) != 2 {
			t.Fatalf("step 3 was worked on by %v, want two agents", ids)
		}
		for _, id := range p.Steps[2].AgentIDs {
			r.wantOnlyPrompt(id, want)
		}
	})
}
