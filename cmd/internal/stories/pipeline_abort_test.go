package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestAbortInterruptsOnlyItsOwnAgent: The daemon interrupts the agent and then ends it. Other pipelines and agents
// are not touched.
func TestAbortInterruptsOnlyItsOwnAgent(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := holdingStep(r, "developer")
		writeTemplate(r, "held", held, "reviewer")
		r.start()
		plain := r.startAgent(con)
		id, other := startPipeline(r, "held", roof).ID, startPipeline(r, "held", roof).ID
		a, b := awaitWorkingAgent(r, id, 1), awaitWorkingAgent(r, other, 1)
		abortPipeline(r, id, "failed pending")
		wantInterrupted(r, a.ID)
		if got := r.getAgent(b.ID); got.State != daemon.Working || got.StopAskedAt != nil {
			t.Errorf("the other pipeline's agent is %s, asked to stop at %v", got.State, got.StopAskedAt)
		}
		if got := r.getAgent(plain.ID); got.State != daemon.Idle || got.StopAskedAt != nil {
			t.Errorf("an agent of no pipeline is %s, asked to stop at %v", got.State, got.StopAskedAt)
		}
		_, err := r.client.AbortPipeline(t.Context(), id)
		wantConflict(t, err, "pipeline_ended")
		release()
		awaitPipeline(r, other, daemon.PipelineDone)
		_, err = r.client.AbortPipeline(t.Context(), other)
		wantConflict(t, err, "pipeline_ended")
		_, err = r.client.AbortPipeline(t.Context(), 999)
		wantError(t, err, daemon.KindNotFound, "Pipeline not found")
		for _, e := range pipelineEvents(r, id, "pipeline_failed") {
			if e.Alert {
				t.Error("the operator was told of what they asked for")
			}
		}
		// A resume starts a new agent for the aborted step.
		resumePipeline(r, id, false)
		p := awaitPipeline(r, id, daemon.PipelineDone)
		if got := p.Steps[0].AgentIDs; len(got) != 2 || got[0] != a.ID {
			t.Errorf("agents %v of step 1, want %d and another", got, a.ID)
		}
	})
}

// TestAbortDismissesAnOpenDialog: It does not answer yes.
func TestAbortDismissesAnOpenDialog(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		writeTemplate(r, "one", "developer | prompt: Work. @ask", "reviewer")
		r.start()
		id := startPipeline(r, "one", roof).ID
		p := awaitStep(r, id, 1, daemon.StepRunning)
		a := r.awaitState(p.Steps[0].AgentIDs[0], daemon.Waiting)
		awaitPipelineThat(r, id, "tells of the dialog", func(p daemon.Pipeline) bool { return strings.Contains(p.Note, "dialog") })
		if p = abortPipeline(r, id, "failed pending"); p.Note != "" {
			t.Errorf("aborted, the pipeline still says %q", p.Note)
		}
		r.awaitState(a.ID, daemon.Ended)
		r.wantNothingApproved(a.ID)
		if got := stopStages(r, a.ID); got[0] != string(daemon.StopBreak) {
			t.Errorf("stages %v, want the interrupt first", got)
		}
	})
}

// failByHand fails a pipeline and its running step in the database alone. The agent works on.
func failByHand(r *rig, id int64) {
	r.t.Helper()
	store := r.database()
	r.await("a failure by hand", func() (bool, string) {
		p, err := store.Pipeline(r.t.Context(), id)
		if err != nil {
			return false, err.Error()
		}
		now, why := time.Now().UTC(), "Failed by hand"
		p.Status, p.Error, p.FinishedAt = daemon.PipelineFailed, &why, &now
		move := &daemon.PipelineMove{Pipeline: &p}
		for i := range p.Steps {
			if s := &p.Steps[i]; s.Status == daemon.StepRunning {
				s.Status, s.Error, s.FinishedAt = daemon.StepFailed, &why, &now
				move.Steps = []*daemon.Step{s}
			}
		}
		err = store.Commit(r.t.Context(), &daemon.Change{PipelineMove: move})
		return err == nil, fmt.Sprint(err)
	})
}

// TestResumeTakesUpALiveAgent: The agent still works on the step. No other agent starts beside it.
func TestResumeTakesUpALiveAgent(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := holdingStep(r, "developer")
		writeTemplate(r, "held", held, "reviewer")
		r.start()
		id := startPipeline(r, "held", roof).ID
		a := awaitWorkingAgent(r, id, 1)
		failByHand(r, id)
		resumePipeline(r, id, false)
		awaitPipelineThat(r, id, "step 1 again", func(p daemon.Pipeline) bool { return p.Steps[0].Status != daemon.StepFailed })
		release()
		p := awaitPipeline(r, id, daemon.PipelineDone)
		wantOneAgentPerStep(r, p)
		if p.Steps[0].AgentIDs[0] != a.ID {
			t.Errorf("step 1 was done by agent %v, want %d", p.Steps[0].AgentIDs, a.ID)
		}
		if again := pipelineEvents(r, id, "step_running"); len(again) != 3 || field(t, again[1], "taken_up") != true {
			t.Errorf("events %+v: want step 1 twice, the second time taken up, and step 2", again)
		}
	})
}
