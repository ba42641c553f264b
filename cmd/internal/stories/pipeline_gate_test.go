package stories

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// wantConflict fails unless err is a conflict (409) with that code.
func wantConflict(t testing.TB, err error, code daemon.Code) {
	t.Helper()
	var e *daemon.Error
	if !errors.As(err, &e) || e.Code != code || e.Kind != daemon.KindConflict {
		t.Errorf("got error %v, want a conflict with code %s", err, code)
	}
}

// TestEachStepWaitsForItsOwnApproval: Each of two steps waits for its own approval. The step stays pending and no
// agent works meanwhile. A comment goes only to the step that it approves.
func TestEachStepWaitsForItsOwnApproval(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := holdingStep(r, "tester")
		writeTemplate(r, "gated", "developer | approval: true", "reviewer | approval: true", held)
		r.start()
		id := startPipeline(r, "gated", "Mend the roof.").ID
		p := awaitPipeline(r, id, daemon.PipelineWaiting)
		wantSteps(r, p, "pending pending pending")
		if got := awaitPipelineTold(r, id, "pipeline_waiting_for_approval", 1); !strings.Contains(got, fmt.Sprintf("`understudy pipeline approve %d`", id)) || !strings.Contains(got, "step 1 (developer)") {
			t.Errorf("the operator was told %q", got)
		}
		if list, err := r.client.Agents(t.Context(), allRows); err != nil || len(list) != 0 {
			t.Errorf("agents %+v, %v: want none before the approval", list, err)
		}
		if p = approvePipeline(r, id, " mind the gutters\n"); p.Status != daemon.PipelineRunning {
			t.Errorf("approved, the pipeline is %s", p.Status)
		}
		p = awaitPipelineThat(r, id, "asks for step 2", func(p daemon.Pipeline) bool {
			return p.Steps[0].Status == daemon.StepDone && p.Status == daemon.PipelineWaiting
		})
		wantSteps(r, p, "done pending pending")
		r.wantTold(p.Steps[0].AgentIDs[0], "Mend the roof.\n\n[Approval note: mind the gutters]")
		if got := awaitPipelineEvents(r, id, "pipeline_waiting_for_approval", 2); !strings.Contains(got, "step 2 (reviewer)") {
			t.Errorf("the operator was told %q", got)
		}
		approvePipeline(r, id, "")
		release()
		p = awaitPipeline(r, id, daemon.PipelineDone)
		wantSteps(r, p, "done done done")
		if got := r.told(p.Steps[1].AgentIDs[0]); len(got) != 1 || got[0] != p.Steps[0].LatestHandoff.ContentMD {
			t.Errorf("step 2 was told %q, want what step 1 has left alone", got)
		}
		wantPipelineEvents(r, id, "pipeline_waiting_for_approval", 2)
		wantPipelineEvents(r, id, "step_approved", 2)
		_, err := r.client.ApprovePipeline(t.Context(), id, pipelines.Decision{})
		wantConflict(t, err, "not_waiting_for_approval")
		_, err = r.client.RejectPipeline(t.Context(), id, pipelines.Decision{})
		wantConflict(t, err, "not_waiting_for_approval")
	})
}
