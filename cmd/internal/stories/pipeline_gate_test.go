package stories

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

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

// wantNoDecision fails unless the pipeline can be neither approved nor rejected.
func (r *rig) wantNoDecision(id int64) {
	r.t.Helper()
	_, err := r.client.ApprovePipeline(r.t.Context(), id, pipelines.Decision{Comment: "yes"})
	wantConflict(r.t, err, "not_waiting_for_approval")
	_, err = r.client.RejectPipeline(r.t.Context(), id, pipelines.Decision{Comment: "no"})
	wantConflict(r.t, err, "not_waiting_for_approval")
}

// TestEachStepWaitsForItsOwnApproval: Each of two steps waits for its own approval. The step stays pending and no
// agent works meanwhile. A comment goes only to the step that it approves.
func TestEachStepWaitsForItsOwnApproval(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := r.holdingStep("tester")
		r.writeTemplate("gated", "developer | approval: true", "reviewer | approval: true", held)
		r.start()
		id := r.startPipeline("gated", "Mend the roof.").ID
		p := r.awaitPipeline(id, daemon.PipelineWaiting)
		r.wantSteps(p, "pending pending pending")
		if got := r.awaitPipelineTold(id, "pipeline_waiting_for_approval", 1); !strings.Contains(got, fmt.Sprintf("`understudy pipeline approve %d`", id)) || !strings.Contains(got, "step 1 (developer)") {
			t.Errorf("the operator was told %q", got)
		}
		if list, err := r.client.Agents(t.Context(), allRows); err != nil || len(list) != 0 {
			t.Errorf("agents %+v, %v: want none before the approval", list, err)
		}
		if p = r.approvePipeline(id, " mind the gutters\n"); p.Status != daemon.PipelineRunning {
			t.Errorf("approved, the pipeline is %s", p.Status)
		}
		p = r.awaitPipelineThat(id, "asks for step 2", func(p daemon.Pipeline) bool {
			return p.Steps[0].Status == daemon.StepDone && p.Status == daemon.PipelineWaiting
		})
		r.wantSteps(p, "done pending pending")
		r.wantTold(p.Steps[0].AgentIDs[0], "Mend the roof.\n\n[Approval note: mind the gutters]")
		if got := r.awaitPipelineEvents(id, "pipeline_waiting_for_approval", 2); !strings.Contains(got, "step 2 (reviewer)") {
			t.Errorf("the operator was told %q", got)
		}
		r.approvePipeline(id, "")
		release()
		p = r.awaitPipeline(id, daemon.PipelineDone)
		r.wantSteps(p, "done done done")
		if got := r.told(p.Steps[1].AgentIDs[0]); len(got) != 1 || got[0] != p.Steps[0].LatestHandoff.ContentMD {
			t.Errorf("step 2 was told %q, want what step 1 has left alone", got)
		}
		r.wantPipelineEvents(id, "pipeline_waiting_for_approval", 2)
		r.wantPipelineEvents(id, "step_approved", 2)
		r.wantNoDecision(id)
	})
}

// TestApprovalCommentEndsThePrompt: The comment comes after everything else in the step's prompt.
func TestApprovalCommentEndsThePrompt(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("gated", "developer", "reviewer | approval: true | prompt: Look closely.")
		r.start()
		id := r.startPipeline("gated", roof).ID
		r.approvePipeline(id, "at the chimney,\nabove all")
		p := r.awaitPipeline(id, daemon.PipelineDone)
		r.wantTold(p.Steps[1].AgentIDs[0], "Look closely.")
		got := r.told(p.Steps[1].AgentIDs[0])[0]
		if !strings.HasSuffix(got, strings.TrimSpace(roof)+"\n\n\n[Approval note: at the chimney,\nabove all]") {
			t.Errorf("step 2 was told %q", got)
		}
		if s := p.Steps[1]; s.Comment != "at the chimney,\nabove all" || s.ApprovedAt == nil {
			t.Errorf("step 2 was approved at %v with %q", s.ApprovedAt, s.Comment)
		}
	})
}

func TestDecisionWithoutWaitingStepIsRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Pipeline.MaxRunning = 1
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held, "reviewer | approval: true")
		r.start()
		running := r.startPipeline("held", roof).ID
		pending := r.startPipeline("held", roof).ID
		r.awaitWorkingAgent(running, 1)
		r.wantNoDecision(running)
		r.wantNoDecision(pending)
		if _, err := r.client.AbortPipeline(t.Context(), pending); err != nil {
			t.Fatal(err)
		}
		r.wantNoDecision(pending)
		release()
		r.approvePipeline(running, "")
		r.awaitPipeline(running, daemon.PipelineDone)
		r.wantNoDecision(running)
		_, err := r.client.ApprovePipeline(t.Context(), 999, pipelines.Decision{})
		wantError(t, err, daemon.KindNotFound, "Pipeline not found")
		_, err = r.client.RejectPipeline(t.Context(), 999, pipelines.Decision{})
		wantError(t, err, daemon.KindNotFound, "Pipeline not found")
	})
}

// TestOneOfSeveralApprovalsCounts: The step begins once.
func TestOneOfSeveralApprovalsCounts(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := r.holdingStep("developer")
		r.writeTemplate("gated", held+" | approval: true")
		r.start()
		id := r.startPipeline("gated", roof).ID
		r.awaitPipeline(id, daemon.PipelineWaiting)
		errs := make([]error, 6)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				_, errs[i] = r.client.ApprovePipeline(t.Context(), id, pipelines.Decision{Comment: fmt.Sprint(i)})
			})
		}
		wg.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err != nil:
				wantConflict(t, err, "not_waiting_for_approval")
			case won >= 0:
				t.Errorf("%d and %d have both approved", won, i)
			default:
				won = i
			}
		}
		release()
		p := r.awaitPipeline(id, daemon.PipelineDone)
		if s := p.Steps[0]; len(s.AgentIDs) != 1 || s.Comment != fmt.Sprint(won) {
			t.Errorf("agents %v, comment %q: want one agent and that of %d", s.AgentIDs, s.Comment, won)
		}
		r.wantPipelineEvents(id, "step_approved", 1)
	})
}

// TestApprovalOfAnEarlierStepIsRefused: Both people see that the first step waits. The first one approves it, and the
// pipeline waits at the next step. What the second one then says of the first step must not count for that next step.
func TestApprovalOfAnEarlierStepIsRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("gated", "developer | approval: true", "reviewer | approval: true")
		r.start()
		id := r.startPipeline("gated", roof).ID
		steps := r.awaitPipeline(id, daemon.PipelineWaiting).Steps
		shown := pipelines.Decision{StepID: steps[0].ID, Comment: "fine"}
		if _, err := r.client.ApprovePipeline(t.Context(), id, shown); err != nil {
			t.Fatalf("approve: %v", err)
		}
		r.awaitPipelineThat(id, "asks for step 2", func(p daemon.Pipeline) bool {
			return p.Steps[0].Status == daemon.StepDone && p.Status == daemon.PipelineWaiting
		})
		_, err := r.client.ApprovePipeline(t.Context(), id, shown)
		wantConflict(t, err, "another_step")
		_, err = r.client.RejectPipeline(t.Context(), id, shown)
		wantConflict(t, err, "another_step")
		if p := r.getPipeline(id); p.Status != daemon.PipelineWaiting || p.Steps[1].ApprovedAt != nil {
			t.Errorf("the pipeline is %s and its second step was approved at %v by a decision about the first", p.Status, p.Steps[1].ApprovedAt)
		}
		if _, err := r.client.ApprovePipeline(t.Context(), id, pipelines.Decision{StepID: steps[1].ID}); err != nil {
			t.Errorf("approve the second step: %v", err)
		}
		r.awaitPipeline(id, daemon.PipelineDone)
		r.wantPipelineEvents(id, "step_approved", 2)
		r.wantPipelineEvents(id, "step_rejected", 0)
	})
}

// TestRejectFailsThePipelineWithItsComment: The step and the pipeline fail with the comment. Later steps stay
// pending. A resume asks for the approval again.
func TestRejectFailsThePipelineWithItsComment(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("gated", "developer", "reviewer | approval: true", "tester")
		r.start()
		id := r.startPipeline("gated", roof).ID
		r.awaitPipeline(id, daemon.PipelineWaiting)
		p, err := r.client.RejectPipeline(t.Context(), id, pipelines.Decision{Comment: "the ladder is missing"})
		if err != nil {
			t.Fatal(err)
		}
		r.wantSteps(p, "done failed pending")
		const why = "Rejected: the ladder is missing"
		if p.Status != daemon.PipelineFailed || said(p.Error) != why || said(p.Steps[1].Error) != why || p.FinishedAt == nil {
			t.Errorf("pipeline is %s with %q, its step with %q; want both to say %q", p.Status, said(p.Error), said(p.Steps[1].Error), why)
		}
		r.wantNoDecision(id)
		r.resumePipeline(id, false)
		p = r.awaitPipeline(id, daemon.PipelineWaiting)
		r.wantSteps(p, "done pending pending")
		if p.Error != nil || p.Steps[1].Error != nil || p.Hint != "" {
			t.Errorf("resumed, the pipeline still says %q %q, its step %q", said(p.Error), p.Hint, said(p.Steps[1].Error))
		}
		r.awaitPipelineEvents(id, "pipeline_waiting_for_approval", 2)
		p, err = r.client.RejectPipeline(t.Context(), id, pipelines.Decision{})
		if err != nil || said(p.Error) != "Rejected" {
			t.Errorf("rejected without a word: %v, %q", err, said(p.Error))
		}
		r.resumePipeline(id, false)
		r.approvePipeline(id, "")
		p = r.awaitPipeline(id, daemon.PipelineDone)
		r.wantSteps(p, "done done done")
		r.wantPipelineEvents(id, "step_rejected", 2)
	})
}

// TestApprovalRemindersKeepTheirInterval: A restart of the daemon causes no earlier reminder.
func TestApprovalRemindersKeepTheirInterval(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("often", "developer | approval: true | remind_after: 0.3")
		r.writeTemplate("seldom", "developer | approval: true | remind_after: 2")
		r.start()
		often, seldom := r.startPipeline("often", roof).ID, r.startPipeline("seldom", roof).ID
		if got := r.awaitPipelineEvents(often, "pipeline_approval_reminder", 3); !strings.Contains(got, fmt.Sprintf("`understudy pipeline approve %d`", often)) {
			t.Errorf("the operator was reminded with %q", got)
		}
		r.approvePipeline(often, "")
		r.awaitPipelineEvents(seldom, "pipeline_approval_reminder", 1)
		r.halt()
		r.start()
		r.awaitPipelineEvents(seldom, "pipeline_approval_reminder", 2)
		r.wantPipelineEvents(seldom, "pipeline_waiting_for_approval", 1)
		for id, every := range map[int64]time.Duration{often: 300 * time.Millisecond, seldom: 2 * time.Second} {
			last := r.pipelineEvents(id, "pipeline_waiting_for_approval")[0].At
			for i, e := range r.pipelineEvents(id, "pipeline_approval_reminder") {
				if since := e.At.Sub(last); since < every-10*time.Millisecond {
					t.Errorf("pipeline %d: reminder %d came %s after the one before, want %s", id, i+1, since, every)
				}
				last = e.At
			}
		}
		r.awaitPipeline(often, daemon.PipelineDone)
		n := len(r.pipelineEvents(often, "pipeline_approval_reminder"))
		r.approvePipeline(seldom, "")
		r.awaitPipeline(seldom, daemon.PipelineDone)
		r.wantPipelineEvents(often, "pipeline_approval_reminder", n)
	})
}

// TestRestartAsksForNoSecondApproval: The pipeline still waits for the approval.
func TestRestartAsksForNoSecondApproval(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("gated", "developer", "reviewer | approval: true")
		r.start()
		id := r.startPipeline("gated", roof).ID
		r.awaitPipelineTold(id, "pipeline_waiting_for_approval", 1)
		r.halt()
		r.start()
		p := r.approvePipeline(id, "go on")
		r.wantSteps(p, "done pending")
		p = r.awaitPipeline(id, daemon.PipelineDone)
		r.wantPipelineEvents(id, "pipeline_waiting_for_approval", 1)
		if len(p.Steps[1].AgentIDs) != 1 || !strings.HasSuffix(r.told(p.Steps[1].AgentIDs[0])[0], "[Approval note: go on]") {
			t.Errorf("agents %v: want one with the comment", p.Steps[1].AgentIDs)
		}
	})
}

// TestApprovalWithoutRoomIsKept: The decision is kept. The pipeline goes on when it is its turn, and does not ask
// again.
func TestApprovalWithoutRoomIsKept(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Pipeline.MaxRunning = 1
		held, release := r.holdingStep("developer")
		r.writeTemplate("gated", "developer", "reviewer | approval: true")
		r.writeTemplate("held", held)
		r.start()
		gated := r.startPipeline("gated", roof).ID
		r.awaitPipeline(gated, daemon.PipelineWaiting)
		first := r.startPipeline("held", roof).ID
		r.awaitWorkingAgent(first, 1) // There is room, because a pipeline that waits for approval takes up none.
		later := r.startPipeline("held", roof).ID
		p := r.approvePipeline(gated, "late")
		if p.Status != daemon.PipelinePending || !strings.Contains(p.Note, "pipeline.max_running") {
			t.Errorf("approved without room, the pipeline is %s with the note %q", p.Status, p.Note)
		}
		r.wantSteps(p, "done pending")
		r.wantNoDecision(gated)
		release()
		p = r.awaitPipeline(gated, daemon.PipelineDone)
		r.awaitPipeline(later, daemon.PipelineDone)
		r.wantPipelineEvents(gated, "pipeline_waiting_for_approval", 1)
		if got := r.told(p.Steps[1].AgentIDs[0]); len(got) != 1 || !strings.HasSuffix(got[0], "[Approval note: late]") {
			t.Errorf("step 2 was told %q", got)
		}
		if began := r.pipelineEvents(later, "pipeline_running"); len(began) != 1 || began[0].ID < r.pipelineEvents(gated, "pipeline_done")[0].ID {
			t.Errorf("the later pipeline began at %v, before its turn", began)
		}
	})
}
