package stories

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestAbortInterruptsOnlyItsOwnAgent: The daemon interrupts the agent and then ends it. Other pipelines and agents
// are not touched.
func TestAbortInterruptsOnlyItsOwnAgent(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held, "reviewer")
		r.start()
		plain := r.startAgent(con)
		id, other := r.startPipeline("held", roof).ID, r.startPipeline("held", roof).ID
		a, b := r.awaitWorkingAgent(id, 1), r.awaitWorkingAgent(other, 1)
		r.abortPipeline(id, "failed pending")
		r.wantInterrupted(a.ID)
		if got := r.getAgent(b.ID); got.State != daemon.Working || got.StopAskedAt != nil {
			t.Errorf("the other pipeline's agent is %s, asked to stop at %v", got.State, got.StopAskedAt)
		}
		if got := r.getAgent(plain.ID); got.State != daemon.Idle || got.StopAskedAt != nil {
			t.Errorf("an agent of no pipeline is %s, asked to stop at %v", got.State, got.StopAskedAt)
		}
		_, err := r.client.AbortPipeline(t.Context(), id)
		wantConflict(t, err, "pipeline_ended")
		release()
		r.awaitPipeline(other, daemon.PipelineDone)
		_, err = r.client.AbortPipeline(t.Context(), other)
		wantConflict(t, err, "pipeline_ended")
		_, err = r.client.AbortPipeline(t.Context(), 999)
		wantError(t, err, daemon.KindNotFound, "Pipeline not found")
		for _, e := range r.pipelineEvents(id, "pipeline_failed") {
			if e.Alert {
				t.Error("the operator was told of what they asked for")
			}
		}
		// A resume starts a new agent for the aborted step.
		r.resumePipeline(id, false)
		p := r.awaitPipeline(id, daemon.PipelineDone)
		if got := p.Steps[0].AgentIDs; len(got) != 2 || got[0] != a.ID {
			t.Errorf("agents %v of step 1, want %d and another", got, a.ID)
		}
	})
}

func TestAbortedPendingPipelineNeverBegins(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Pipeline.MaxRunning = 1
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held, "reviewer")
		r.start()
		running, pending := r.startPipeline("held", roof).ID, r.startPipeline("held", roof).ID
		a := r.awaitWorkingAgent(running, 1)
		r.abortPipeline(pending, "pending pending")
		if got := r.getAgent(a.ID); got.StopAskedAt != nil {
			t.Errorf("the running pipeline's agent was asked to stop")
		}
		release()
		r.awaitPipeline(running, daemon.PipelineDone)
		r.wantAborted(r.getPipeline(pending), "pending pending")
		r.wantPipelineEvents(pending, "step_running", 0)
	})
}

// TestAbortEndsAnAgentWhosePaneComesLater: The agent's row is committed but its pane is not made yet. The daemon ends
// a pane that is made all the same.
func TestAbortEndsAnAgentWhosePaneComesLater(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := newGate(t)
		r.bendWith(&bend{spawn: func(_ context.Context, do func() (tmux.PaneInfo, error)) (tmux.PaneInfo, error) {
			g.pass()
			return do()
		}})
		r.writeTemplate("one", "developer", "reviewer")
		r.start()
		id := r.startPipeline("one", roof).ID
		g.await(t)
		p := r.abortPipeline(id, "failed pending")
		g.goOn()
		r.awaitState(p.Steps[0].AgentIDs[0], daemon.Ended)
		r.wantNoPanes()
	})
}

func TestAbortEndsAnAgentThatNeverStarts(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("one", "developer", "reviewer")
		r.misbehave("slow-start=1h")
		r.start()
		id := r.startPipeline("one", roof).ID
		p := r.awaitStep(id, 1, daemon.StepRunning)
		a := r.awaitAgent(p.Steps[0].AgentIDs[0], "a pane", func(a daemon.Agent) bool { return len(r.agentEvents(a.ID, "agent_started")) > 0 })
		r.abortPipeline(id, "failed pending")
		r.awaitState(a.ID, daemon.Ended)
		r.wantNoPanes()
	})
}

// TestAbortDismissesAnOpenDialog: It does not answer yes.
func TestAbortDismissesAnOpenDialog(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("one", "developer | prompt: Work. @ask", "reviewer")
		r.start()
		id := r.startPipeline("one", roof).ID
		p := r.awaitStep(id, 1, daemon.StepRunning)
		a := r.awaitState(p.Steps[0].AgentIDs[0], daemon.Waiting)
		r.awaitPipelineThat(id, "tells of the dialog", func(p daemon.Pipeline) bool { return strings.Contains(p.Note, "dialog") })
		if p = r.abortPipeline(id, "failed pending"); p.Note != "" {
			t.Errorf("aborted, the pipeline still says %q", p.Note)
		}
		r.awaitState(a.ID, daemon.Ended)
		r.wantNothingApproved(a.ID)
		if got := r.stopStages(a.ID); got[0] != string(daemon.StopBreak) {
			t.Errorf("stages %v, want the interrupt first", got)
		}
	})
}

// TestAbortBetweenStepsStartsNoFurtherStep: A step is done and its agent is being shut down, so no step runs. The
// agent goes on ending, and the next step never begins.
func TestAbortBetweenStepsStartsNoFurtherStep(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("two", "developer", "reviewer")
		r.misbehave("exit-delay=1500ms")
		r.start()
		id := r.startPipeline("two", roof).ID
		p := r.awaitStep(id, 1, daemon.StepDone)
		r.awaitAgent(p.Steps[0].AgentIDs[0], "asked to leave", func(a daemon.Agent) bool { return len(r.stopStages(a.ID)) > 0 })
		p = r.abortPipeline(id, "done pending")
		r.awaitState(p.Steps[0].AgentIDs[0], daemon.Ended)
		r.wantStopStages(p.Steps[0].AgentIDs[0], daemon.StopAsked)
		r.wantPipelineEvents(id, "step_running", 1)
		r.misbehave("")
		r.resumePipeline(id, false)
		p = r.awaitPipeline(id, daemon.PipelineDone)
		r.wantSteps(p, "done done")
		r.wantPipelineEvents(id, "step_running", 2)
	})
}

// TestAbortEndsTheRemindersOfAnApproval: No further reminder comes. A resume asks for the approval again.
func TestAbortEndsTheRemindersOfAnApproval(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("gated", "developer", "reviewer | approval: true | remind_after: 0.3")
		r.start()
		id := r.startPipeline("gated", roof).ID
		r.awaitPipelineEvents(id, "pipeline_approval_reminder", 1)
		r.abortPipeline(id, "done pending")
		r.wantNoDecision(id)
		n := len(r.pipelineEvents(id, "pipeline_approval_reminder"))
		other := r.startPipeline("gated", roof).ID // The reminders of this pipeline show that time has passed.
		r.awaitPipelineEvents(other, "pipeline_approval_reminder", 2)
		r.wantPipelineEvents(id, "pipeline_approval_reminder", n)
		r.resumePipeline(id, false)
		r.approvePipeline(id, "")
		r.awaitPipeline(id, daemon.PipelineDone)
		r.wantPipelineEvents(id, "pipeline_waiting_for_approval", 2)
	})
}

func TestOneOfSeveralAbortsSucceeds(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, _ := r.holdingStep("developer")
		r.writeTemplate("held", held)
		r.start()
		id := r.startPipeline("held", roof).ID
		a := r.awaitWorkingAgent(id, 1)
		errs := make([]error, 5)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = r.client.AbortPipeline(t.Context(), id) })
		}
		wg.Wait()
		if n := len(slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err != nil })); n != 1 {
			t.Errorf("%d aborts of 5 were right: %v", n, errs)
		}
		for _, err := range errs {
			if err != nil {
				wantConflict(t, err, "pipeline_ended")
			}
		}
		r.wantInterrupted(a.ID)
		r.wantPipelineEvents(id, "pipeline_failed", 1)
		r.wantPipelineEvents(id, "step_failed", 1)
	})
}

// TestAbortCancelsAHandoffWithoutRecord: The handoff has no record yet.
func TestAbortCancelsAHandoffWithoutRecord(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		id, hid, a, _ := r.startPipelineInHandoff()
		r.abortPipeline(id, "failed pending")
		if h := r.getHandoff(hid); h.Status != daemon.StatusCancelled {
			t.Errorf("handoff is %s", h.Status)
		}
		r.wantInterrupted(a.ID)
		r.wantNoPanes()
		if got := r.successors(a.ID); len(got) != 0 {
			t.Errorf("successors %+v", got)
		}
	})
}

// TestAbortAfterTheRecordStartsNoSuccessor: The handoff is recorded and goes on until its agent has ended. No
// successor starts before the pipeline is resumed.
func TestAbortAfterTheRecordStartsNoSuccessor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		id, hid, a, release := r.startPipelineInHandoff()
		r.misbehave("exit-delay=1500ms")
		release()
		r.awaitPhase(hid, daemon.ShuttingDown)
		r.abortPipeline(id, "failed pending")
		r.awaitState(a.ID, daemon.Ended)
		h := r.awaitPhase(hid, daemon.Failed, daemon.Cancelled)
		if len(r.successors(a.ID)) != 0 {
			t.Errorf("handoff %+v has a successor all the same", h)
		}
		r.wantNoPanes()
		r.wantAborted(r.getPipeline(id), "failed pending")
		r.misbehave("")
		r.resumePipeline(id, false)
		r.wantHandedOn(id, hid, 2)
	})
}

func TestAbortEndsAStartingSuccessor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		id, hid, _, release := r.startPipelineInHandoff()
		r.misbehave("slow-start=1h")
		release()
		h := r.awaitPhase(hid, daemon.AwaitingRegistration)
		r.abortPipeline(id, "failed pending")
		r.awaitState(*h.SuccessorID, daemon.Ended)
		r.awaitPhase(hid, daemon.Failed, daemon.Cancelled)
		r.wantNoPanes()
		if got := r.successors(*h.SuccessorID); len(got) != 0 {
			t.Errorf("successors of the successor %+v", got)
		}
		r.wantAborted(r.getPipeline(id), "failed pending")
		r.misbehave("")
		r.resumePipeline(id, false)
		r.wantHandedOn(id, hid, 3)
	})
}
