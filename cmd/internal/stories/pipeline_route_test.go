package stories

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// reviewed writes a template in which a reviewer sends the work back to a developer, in two rounds at most, until the file of
// the verdict says something else. It returns a function that writes the verdict.
func reviewed(r *rig) (verdict func(string)) {
	r.t.Helper()
	file := filepath.Join(filepath.Dir(r.root), "verdict")
	verdict = func(text string) {
		r.t.Helper()
		writeFile(r, file, "## What Was Done\n\nLooked.\n\n## Verdict\n\n"+text+"\n")
	}
	verdict("**Changes requested.** The gutters leak.")
	writeTemplate(r, "reviewed", "developer | prompt: "+quoted("Work. @say ## What Was Done\n\nMended."), "reviewer | prompt: "+quoted("Look. @raw "+file)+
		` | next: {when: "Verdict: changes requested", goto: developer} | max_rounds: 2`, "tester | prompt: Try it. @say Fine.")
	return verdict
}

// wantRounds fails unless the pipeline's steps are these: number in the template, round, status.
func wantRounds(r *rig, p daemon.Pipeline, want ...string) {
	r.t.Helper()
	var got []string
	for i, s := range p.Steps {
		got = append(got, fmt.Sprintf("%d.%d %s", s.Number, s.Round, s.Status))
		if s.OrderIndex != i {
			r.t.Errorf("step %d has the place %d", i+1, s.OrderIndex)
		}
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("steps\n got %q\nwant %q", got, want)
	}
}

// TestReviewSendsWorkBackUntilAPersonDecides: the review sends the work back to new rows, each of which is worked on once. After
// two rounds a person decides about a third, in which the review is content.
func TestReviewSendsWorkBackUntilAPersonDecides(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		verdict := reviewed(r)
		r.start()
		id := startPipeline(r, "reviewed", "Mend the roof.").ID
		p := awaitPipelineThat(r, id, "asks for a third round", func(p daemon.Pipeline) bool {
			if len(p.Steps) > 7 {
				t.Fatalf("the pipeline has begun a round more than a person has allowed: %s", stepStatuses(p))
			}
			return p.Status == daemon.PipelineWaiting
		})
		wantRounds(r, p, "1.1 done", "2.1 done", "1.2 done", "2.2 done", "1.3 pending", "2.3 pending", "3.1 pending")
		told := awaitPipelineTold(r, id, "pipeline_waiting_for_approval", 1)
		for _, want := range []string{"step 5 (developer)", "step 4 (reviewer) has sent the work back in round 2 of at most 2",
			fmt.Sprintf("`understudy pipeline approve %d`", id), fmt.Sprintf("`understudy pipeline resume %d --skip`", id)} {
			if !strings.Contains(told, want) {
				t.Errorf("the operator was told %q: want %q in it", told, want)
			}
		}
		if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "its max_rounds is 2") }) {
			t.Errorf("warnings %q", p.Warnings)
		}
		verdict("Ready.")
		approvePipeline(r, id, "the last time")
		p = awaitPipeline(r, id, daemon.PipelineDone)
		wantRounds(r, p, "1.1 done", "2.1 done", "1.2 done", "2.2 done", "1.3 done", "2.3 done", "3.1 done")
		wantOneAgentPerStep(r, p)
		for i, s := range p.Steps[1:] {
			by := ""
			if s.Number == 1 {
				by = "Verdict: changes requested"
			}
			if s.CameFrom == nil || *s.CameFrom != p.Steps[i].ID || s.CameBy != by {
				t.Errorf("to step %d led %v by %q, want %d by %q", i+2, s.CameFrom, s.CameBy, p.Steps[i].ID, by)
			}
		}
		r.wantTold(p.Steps[2].AgentIDs[0], "## Handoff from previous step (reviewer)")
		r.wantTold(p.Steps[4].AgentIDs[0], "[Approval note: the last time]")
		wantPipelineEvents(r, id, "step_routed", 2)
		wantPipelineEvents(r, id, "step_done", 7)
	})
}

// TestRejectedRoundIsSkipped: a person rejects a further round, and resumes the pipeline without it.
func TestRejectedRoundIsSkipped(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		reviewed(r)
		r.start()
		id := startPipeline(r, "reviewed", "Mend the roof.").ID
		awaitPipeline(r, id, daemon.PipelineWaiting)
		p, err := r.client.RejectPipeline(t.Context(), id, pipelines.Decision{Comment: "enough"})
		if err != nil || !strings.Contains(p.Hint, "--skip") {
			t.Fatalf("rejected: %v, hint %q", err, p.Hint)
		}
		resumePipeline(r, id, true)
		p = awaitPipeline(r, id, daemon.PipelineDone)
		wantRounds(r, p, "1.1 done", "2.1 done", "1.2 done", "2.2 done", "1.3 skipped", "2.3 skipped", "3.1 done")
		wantOneAgentPerStep(r, p)
		if from := p.Steps[6].CameFrom; from == nil || *from != p.Steps[4].ID {
			t.Errorf("to the last step led %v, want the step that was skipped, %d", from, p.Steps[4].ID)
		}
	})
}

// TestRuleLeadsForward: the first rule that applies counts, and what it leads past is skipped.
func TestRuleLeadsForward(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		say := quoted("Work. @say ## Verdict\n\nTrivial, nothing to review.")
		writeTemplate(r, "short", "developer | prompt: "+say+" | next: [{when: {heading: Verdict, contains: trivial}, goto: 3}, {when: {heading: Verdict, contains: nothing}, goto: 1}]",
			"reviewer", "tester | prompt: Try it. @say Fine.")
		r.start()
		p := awaitPipeline(r, startPipeline(r, "short", "Mend the roof.").ID, daemon.PipelineDone)
		wantRounds(r, p, "1.1 done", "2.1 skipped", "3.1 done")
		if s := p.Steps[2]; s.CameFrom == nil || *s.CameFrom != p.Steps[0].ID || s.CameBy != "Verdict: trivial" {
			t.Errorf("to step 3 led %v by %q", s.CameFrom, s.CameBy)
		}
		wantOneAgentPerStep(r, p)
	})
}

// TestTemplateWithAWrongRuleIsRefused: a rule that leads nowhere is found when the file is read, with its line.
func TestTemplateWithAWrongRuleIsRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		writeTemplate(r, "wrong", "developer | next: {when: \"Verdict: bad\", goto: nobody}")
		r.start()
		_, err := r.client.CreatePipeline(t.Context(), pipelines.NewPipeline{Template: "wrong", Title: "a test", Prompt: "x", Cwd: r.work})
		var told *daemon.Error
		if !errors.As(err, &told) || told.Code != daemon.CodeTemplateBroken || !strings.Contains(told.Message, `wrong.yaml:4: step 1: next: goto no step has the agent "nobody"`) {
			t.Errorf("got %v", err)
		}
	})
}
