package stories

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/daemon/views"
)

// release writes a template with a review, whose message the returned function writes, and a release.
func release(r *rig, more string) (review func(string)) {
	r.t.Helper()
	file := filepath.Join(filepath.Dir(r.root), "review")
	writeTemplate(r, "release", "developer | prompt: "+quoted("Work. @say ## What Was Done\n\nMended."), "reviewer | prompt: "+quoted("Look. @raw "+file)+
		` | next: {when: {heading: Verdict, contains: changes requested}, goto: developer`+more+`}`, "tester | prompt: Release it. @say Released.")
	return func(text string) { writeFile(r, file, text) }
}

// TestVerdictThatIsNotFoundWaitsForAPerson: the release does not begin, the operator is told what was written, and each of the
// three ways can be chosen.
func TestVerdictThatIsNotFoundWaitsForAPerson(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		review := release(r, "")
		review("## What Was Done\n\nThe gutters leak, so\n\nchanges requested, I would say.")
		r.start()
		id := startPipeline(r, "release", "Mend the roof.").ID
		p := awaitPipeline(r, id, daemon.PipelineWaiting)
		wantRounds(r, p, "1.1 done", "2.1 done", "3.1 pending")
		if s := p.Steps[1]; s.Undecided != daemon.UndecidedMissing || p.AwaitsWay() == nil {
			t.Errorf("step 2 is undecided: %q", s.Undecided)
		}
		told := awaitPipelineTold(r, id, "pipeline_waiting_for_approval", 1)
		for _, want := range []string{"step 2 (reviewer) has left no heading Verdict", "changes requested, I would say", fmt.Sprintf("`understudy pipeline approve %d` it goes on to step 3 (tester)", id),
			"`--goto 1` to developer", fmt.Sprintf("`understudy pipeline reject %d`", id)} {
			if !strings.Contains(told, want) {
				t.Errorf("the operator was told %q: want %q in it", told, want)
			}
		}
		var refused *daemon.Error
		if _, err := r.client.ApprovePipeline(t.Context(), id, pipelines.Decision{StepID: p.Steps[2].ID}); !errors.As(err, &refused) || refused.Code != daemon.CodeAnotherStep {
			t.Errorf("approving the release gives %v", err)
		}
		if _, err := r.client.ApprovePipeline(t.Context(), id, pipelines.Decision{Goto: 4}); !errors.As(err, &refused) || refused.Code != daemon.CodeBadGoto {
			t.Errorf("a way to no step gives %v", err)
		}

		review("## Verdict\n\nREQUEST_CHANGES")
		if _, err := r.client.ApprovePipeline(t.Context(), id, pipelines.Decision{StepID: p.Steps[1].ID, Goto: 1, Comment: "mend the gutters"}); err != nil {
			t.Fatal(err)
		}
		p = awaitPipelineThat(r, id, "asks again", func(p daemon.Pipeline) bool { return p.Status == daemon.PipelineWaiting && len(p.Steps) == 5 })
		wantRounds(r, p, "1.1 done", "2.1 done", "1.2 done", "2.2 done", "3.1 pending")
		r.wantTold(p.Steps[2].AgentIDs[0], "[Approval note: mend the gutters]")
		if s := p.Steps[3]; s.Undecided != daemon.UndecidedUnclear || views.Written(&s) != "REQUEST_CHANGES" {
			t.Errorf("step 4 is undecided: %q, it wrote %q", s.Undecided, views.Written(&s))
		}

		if p, err := r.client.RejectPipeline(t.Context(), id, pipelines.Decision{}); err != nil || p.Status != daemon.PipelineFailed {
			t.Fatalf("rejected: %v, %s", err, p.Status)
		}
		if _, err := r.client.ResumePipeline(t.Context(), id, true); !errors.As(err, &refused) || refused.Code != daemon.CodeStepUndecided {
			t.Errorf("a resume with --skip gives %v", err)
		}
		resumePipeline(r, id, false)
		awaitPipeline(r, id, daemon.PipelineWaiting)
		approvePipeline(r, id, "as it is")
		p = awaitPipeline(r, id, daemon.PipelineDone)
		wantRounds(r, p, "1.1 done", "2.1 done", "1.2 done", "2.2 done", "3.1 done")
		wantOneAgentPerStep(r, p)
		r.wantTold(p.Steps[4].AgentIDs[0], "[Approval note: as it is]")
	})
}
