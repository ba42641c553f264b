package stories

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// failByHand fails a pipeline and its running step in the database alone. The agent works on.
func (r *rig) failByHand(id int64) {
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

// TestResumeBeginsAtTheFailedStep: Only a failed pipeline can be resumed. It goes on at the first step that is not
// done, and the step's agent gets exactly the same prompt.
func TestResumeBeginsAtTheFailedStep(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.limitPipelines(1)
		held, release := r.holdingStep("reviewer")
		r.writeTemplate("held", "developer", held, "tester | approval: true")
		r.start()
		id := r.startPipeline("held", roof).ID
		pending := r.startPipeline("held", roof).ID
		refused := func(id int64, when daemon.PipelineStatus) {
			t.Helper()
			r.awaitPipeline(id, when)
			for _, skip := range []bool{false, true} {
				_, err := r.client.ResumePipeline(t.Context(), id, skip)
				wantConflict(t, err, "pipeline_not_failed")
			}
		}
		refused(pending, daemon.PipelinePending)
		a := r.awaitWorkingAgent(id, 2)
		refused(id, daemon.PipelineRunning)
		r.abortPipeline(pending, "pending pending pending")
		p := r.abortPipeline(id, "done failed pending")
		r.awaitState(a.ID, daemon.Ended)
		told := r.told(a.ID)
		r.resumePipeline(id, false)
		b := r.awaitWorkingAgent(id, 2)
		release()
		refused(id, daemon.PipelineWaiting)
		if got := r.told(b.ID); !slices.Equal(got, told) || len(got) != 1 || a.ID == b.ID {
			t.Errorf("agent %d was told %q, agent %d before it %q", b.ID, got, a.ID, told)
		}
		r.approvePipeline(id, "")
		after := r.awaitPipeline(id, daemon.PipelineDone)
		refused(id, daemon.PipelineDone)
		if got, want := after.Steps[0], p.Steps[0]; !slices.Equal(got.AgentIDs, want.AgentIDs) || !got.FinishedAt.Equal(*want.FinishedAt) {
			t.Errorf("step 1, which was done, is %+v after the resume", got)
		}
		_, err := r.client.ResumePipeline(t.Context(), 999, false)
		wantError(t, err, daemon.KindNotFound, "Pipeline not found")
	})
}

// TestSkippedStepPassesOnThePreviousOutput: The next step gets the output of the step before the skipped one. If no
// step is left, the pipeline is done and no agent starts.
func TestSkippedStepPassesOnThePreviousOutput(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("odd", "developer", "nobody", "tester", "nobody-else")
		r.start()
		id := r.startPipeline("odd", "Mend the roof.").ID
		p := r.awaitPipeline(id, daemon.PipelineFailed)
		r.wantSteps(p, "done failed pending pending")
		r.resumePipeline(id, true)
		p = r.awaitPipelineThat(id, "failed again", func(p daemon.Pipeline) bool { return p.Steps[3].Status == daemon.StepFailed })
		r.wantSteps(p, "done skipped done failed")
		if got := r.told(p.Steps[2].AgentIDs[0]); len(got) != 1 || got[0] != p.Steps[0].LatestHandoff.ContentMD {
			t.Errorf("step 3 was told %q, want what step 1 left", got)
		}
		r.resumePipeline(id, true)
		p = r.awaitPipeline(id, daemon.PipelineDone)
		r.wantSteps(p, "done skipped done skipped")
		r.wantOneAgentPerStep(p)
		r.wantPipelineEvents(id, "step_skipped", 2)
		r.wantPipelineEvents(id, "agent_created", 2)
	})
}

// TestResumeTakesUpALiveAgent: The agent still works on the step, or has ended its turn meanwhile. No other agent
// starts beside it.
func TestResumeTakesUpALiveAgent(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		t.Run(map[bool]string{false: "working", true: "finished"}[late], func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				held, release := r.holdingStep("developer")
				r.writeTemplate("held", held, "reviewer")
				r.start()
				id := r.startPipeline("held", roof).ID
				a := r.awaitWorkingAgent(id, 1)
				r.failByHand(id)
				if late {
					release()
					r.awaitState(a.ID, daemon.Idle)
				}
				r.resumePipeline(id, false)
				r.awaitPipelineThat(id, "step 1 again", func(p daemon.Pipeline) bool { return p.Steps[0].Status != daemon.StepFailed })
				release()
				p := r.awaitPipeline(id, daemon.PipelineDone)
				r.wantOneAgentPerStep(p)
				if p.Steps[0].AgentIDs[0] != a.ID {
					t.Errorf("step 1 was done by agent %v, want %d", p.Steps[0].AgentIDs, a.ID)
				}
				if again := r.pipelineEvents(id, "step_running"); len(again) != 3 || field(t, again[1], "taken_up") != true {
					t.Errorf("events %+v: want step 1 twice, the second time taken up, and step 2", again)
				}
			})
		})
	}
}

func TestResumeBySkippingEndsTheStepsAgent(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, _ := r.holdingStep("developer")
		r.writeTemplate("held", held, "reviewer")
		r.start()
		id := r.startPipeline("held", "Mend the roof.").ID
		a := r.awaitWorkingAgent(id, 1)
		r.failByHand(id)
		r.resumePipeline(id, true)
		p := r.awaitPipeline(id, daemon.PipelineDone)
		r.wantSteps(p, "skipped done")
		r.wantInterrupted(a.ID)
	})
}

// TestResumeGoesOnWithAFailedHandoff: The step's handoff failed after its record, so the step has no agent. The
// handoff cannot be retried alone, because its successor would work outside any step.
func TestResumeGoesOnWithAFailedHandoff(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		id, hid, _, release := r.startPipelineInHandoff()
		r.misbehave("crash-at-start")
		release()
		r.awaitPhase(hid, daemon.Failed)
		p := r.awaitPipeline(id, daemon.PipelineFailed)
		if want := fmt.Sprintf("understudy pipeline resume %d", id); !strings.Contains(p.Hint, want) {
			t.Errorf("hint %q, want %q", p.Hint, want)
		}
		_, err := r.client.RetryHandoff(t.Context(), hid, "")
		wantConflict(t, err, "pipeline_failed")
		r.misbehave("")
		r.resumePipeline(id, false)
		r.wantHandedOn(id, hid, 3)
	})
}

// wantHandedOn waits until a pipeline of two steps is done. It fails unless the first step had so many agents, of
// which the last is the handoff's successor and left the output.
func (r *rig) wantHandedOn(id, handoffID int64, agents int) {
	r.t.Helper()
	p := r.awaitPipeline(id, daemon.PipelineDone)
	r.wantSteps(p, "done done")
	store := r.database()
	stored, err := store.Pipeline(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	ids, by := p.Steps[0].AgentIDs, stored.Steps[0].LatestHandoff.AgentID
	h := r.awaitPhase(handoffID, daemon.Completed)
	if len(ids) != agents || *h.SuccessorID != ids[agents-1] || by != ids[agents-1] {
		r.t.Errorf("step 1 had the agents %v, the handoff's successor is %d, and the output is of %d; want %d and the last for both",
			ids, *h.SuccessorID, by, agents)
	}
}

// TestRestartWhileAgentsWorkBeginsNothingTwice: The daemon stops while agents of pipelines work and other pipelines
// wait for room. What the agents do meanwhile counts, and nothing begins twice.
func TestRestartWhileAgentsWorkBeginsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, finish := range []bool{false, true} {
		t.Run(map[bool]string{false: "still working", true: "finished meanwhile"}[finish], func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				held, release := r.limitPipelines(1).holdingStep("developer")
				r.writeTemplate("held", held, "reviewer")
				r.start()
				id := r.startPipeline("held", roof).ID
				r.awaitWorkingAgent(id, 1)
				pending := r.startPipeline("held", roof).ID
				r.halt()
				if finish {
					release()
					r.await("end of the turn", func() (bool, string) { return r.countSpooled() > 0, "no Stop in the spool" })
				}
				r.start()
				release()
				for _, id := range []int64{id, pending} {
					r.wantOneAgentPerStep(r.awaitPipeline(id, daemon.PipelineDone))
					for _, typ := range []string{"step_running", "step_done", "handoff_created", "agent_created"} {
						r.wantPipelineEvents(id, typ, 2)
					}
				}
				r.wantAtMostLive(1)
			})
		})
	}
}

// TestAgentThatEndsWithoutDaemonFailsItsStep: An agent that ends while no daemon runs fails its step, unless its turn
// was over.
func TestAgentThatEndsWithoutDaemonFailsItsStep(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := r.holdingStep("developer")
		still, _ := r.holdingStep("developer")
		r.writeTemplate("held", held)
		r.writeTemplate("still", still, "reviewer")
		r.start()
		finished, broken := r.startPipeline("held", roof).ID, r.startPipeline("still", roof).ID
		a, b := r.pane(r.awaitWorkingAgent(finished, 1).ID), r.pane(r.awaitWorkingAgent(broken, 1).ID)
		r.halt()
		release()
		r.awaitSpooled(1)
		r.killProcess(a.PID)
		r.killProcess(b.PID)
		r.start()
		r.wantOneAgentPerStep(r.awaitPipeline(finished, daemon.PipelineDone))
		p := r.awaitPipeline(broken, daemon.PipelineFailed)
		r.wantSteps(p, "failed pending")
		if want := fmt.Sprintf("Agent %d ended before its turn was over (", p.Steps[0].AgentIDs[0]); !strings.HasPrefix(said(p.Error), want) || said(p.Steps[0].Error) != said(p.Error) {
			t.Errorf("pipeline failed with %q, its step with %q, want %q", said(p.Error), said(p.Steps[0].Error), want)
		}
	})
}

// TestOutputOfAnAgentThatIsGoneIsRecorded: The agent is gone before its output is recorded.
func TestOutputOfAnAgentThatIsGoneIsRecorded(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		var gone atomic.Bool
		over := newGate(t)
		over.goOn()
		r.bendWith(&bend{commit: func(c *daemon.Change, do func() error) error {
			if c.NewOutput != nil && !gone.Load() {
				over.pass()
				return errAway
			}
			return do()
		}})
		r.writeTemplate("two", "developer", "reviewer")
		r.start()
		id := r.startPipeline("two", roof).ID
		over.await(t)
		a := r.getAgent(r.getPipeline(id).Steps[0].AgentIDs[0])
		r.killAgent(a.ID)
		r.awaitState(a.ID, daemon.Ended)
		gone.Store(true)
		p := r.awaitPipeline(id, daemon.PipelineDone)
		r.wantOneAgentPerStep(p)
		if got := p.Steps[0].LatestHandoff.ContentMD; !strings.Contains(got, "The roof is mended.") {
			t.Errorf("step 1 left %q", got)
		}
	})
}

// TestResumeAfterTmuxIsKilledStartsANewServer: The step's agent ends with the tmux server, and the step fails. The
// resume starts a new server.
func TestResumeAfterTmuxIsKilledStartsANewServer(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := r.holdingStep("reviewer")
		r.writeTemplate("held", "developer", held)
		r.start()
		id := r.startPipeline("held", roof).ID
		a := r.awaitWorkingAgent(id, 2)
		r.killTmux()
		p := r.awaitPipeline(id, daemon.PipelineFailed)
		r.wantSteps(p, "done failed")
		if want := fmt.Sprintf("Agent %d ended before its turn was over (", a.ID); !strings.HasPrefix(said(p.Error), want) {
			t.Errorf("pipeline failed with %q, want %q", said(p.Error), want)
		}
		r.awaitPipelineTold(id, "pipeline_failed", 1)
		release()
		r.resumePipeline(id, false)
		p = r.awaitPipeline(id, daemon.PipelineDone)
		r.wantSteps(p, "done done")
		if ids := p.Steps[1].AgentIDs; len(ids) != 2 || ids[0] != a.ID {
			t.Errorf("agents %v of step 2, want %d and another", ids, a.ID)
		}
	})
}
