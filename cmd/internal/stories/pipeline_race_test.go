package stories

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// gateCommits stops the daemon at commits: each gate stops the first commit for which its function returns true.
func (r *rig) gateCommits(at ...func(*daemon.Change) bool) []*gate {
	gates := make([]*gate, len(at))
	for i := range at {
		gates[i] = newGate(r.t)
	}
	r.bendWith(&bend{commit: func(c *daemon.Change, do func() error) error {
		for i, is := range at {
			if is(c) {
				gates[i].pass()
			}
		}
		return do()
	}})
	return gates
}

// The tests below stop the daemon at these commits.
var (
	// toSuccessor is a transition that names the handoff's successor.
	toSuccessor = func(c *daemon.Change) bool {
		return c.Move != nil && c.Move.From == daemon.ShuttingDown && c.Move.Handoff.Phase == daemon.Spawning
	}
	// byHand is a handoff that a person retries.
	byHand = func(c *daemon.Change) bool {
		return c.Move != nil && c.Move.From == daemon.Failed && c.PipelineMove == nil
	}
	// byRun is a handoff that a resumed pipeline retries.
	byRun = func(c *daemon.Change) bool {
		return c.Move != nil && c.Move.From == daemon.Failed && c.PipelineMove != nil
	}
	// ofLaunch is the launch of a successor.
	ofLaunch = func(c *daemon.Change) bool {
		return c.Move == nil && c.PipelineMove == nil && slices.ContainsFunc(c.Agents, func(a *daemon.Agent) bool {
			return a.PreviousAgentID != nil && a.SpawnedAt == nil && a.State == daemon.Starting
		})
	}
	// ofOutput is the output of a step, which ends the step.
	ofOutput = func(c *daemon.Change) bool { return c.NewOutput != nil }
	// ofMessage is a queued message.
	ofMessage = func(c *daemon.Change) bool {
		return slices.ContainsFunc(c.NewDeliveries, func(dl *daemon.Delivery) bool { return dl.Kind == daemon.KindMessage })
	}
)

// telling is a commit with an event of this type.
func telling(typ event.Type) func(*daemon.Change) bool {
	return func(c *daemon.Change) bool {
		return slices.ContainsFunc(c.Events, func(e *event.Event) bool { return e.Type == typ })
	}
}

// nth is the n-th commit for which at returns true.
func nth(n int32, at func(*daemon.Change) bool) func(*daemon.Change) bool {
	var seen atomic.Int32
	return func(c *daemon.Change) bool { return at(c) && seen.Add(1) == n }
}

// runOutOfTime moves a running step's start into the past, so that its time is over. n counts from 1.
func (r *rig) runOutOfTime(id int64, n int) {
	r.t.Helper()
	store := r.database()
	r.await("the end of the step's time", func() (bool, string) {
		p, err := store.Pipeline(r.t.Context(), id)
		if err != nil {
			return false, err.Error()
		}
		s := &p.Steps[n-1]
		s.Timeout = time.Millisecond
		err = store.Commit(r.t.Context(), &daemon.Change{PipelineMove: &daemon.PipelineMove{Pipeline: &p, Steps: []*daemon.Step{s}}})
		if err != nil && !errors.Is(err, daemon.ErrMoved) {
			r.t.Fatal(err)
		}
		return err == nil, "another writer was first"
	})
}

// handOverHeld requests a handoff of the first agent of a held pipeline, ends the agent's turn, and waits until the
// handoff is recorded.
func (r *rig) handOverHeld(a daemon.Agent, release func()) (handoffID int64) {
	r.t.Helper()
	id := r.requestHandoff(a.ID)
	r.awaitNote(id, noteBusyPart)
	release()
	return id
}

// wantNoMoreAgents waits until all agents of a pipeline have ended. It fails if another one comes after that.
func (r *rig) wantNoMoreAgents(id int64) {
	r.t.Helper()
	for _, s := range r.getPipeline(id).Steps {
		for _, agent := range s.AgentIDs {
			r.awaitState(agent, daemon.Ended)
		}
	}
	r.wantNoPanes()
	if p := r.getPipeline(id); p.Status != daemon.PipelineFailed || p.CurrentAgentID != nil {
		r.t.Errorf("pipeline is %s, its agent %v", p.Status, p.CurrentAgentID)
	}
}

// async calls do in the background. The channel gets its error.
func async(do func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	return done
}

// awaitResult waits until the call that [async] began returns.
func (r *rig) awaitResult(done <-chan error) error {
	r.t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(cmdtest.Eventually):
		r.t.Fatal("what was asked for in the background did not end\n" + r.report())
		return nil
	}
}

// TestResumeDuringAHandoffStartsOneAgent: The pipeline is aborted and resumed while the handoff of its agent is about
// to name a successor. Only one of the two may start an agent.
func TestResumeDuringAHandoffStartsOneAgent(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		naming := r.gateCommits(toSuccessor)[0]
		p, a, release := r.startHeldPipeline("")
		hid := r.handOverHeld(a, release)
		naming.await(t)
		r.abortPipeline(p.ID, "failed pending")
		r.resumePipeline(p.ID, false)
		r.awaitPipelineThat(p.ID, "note on the handoff", func(p daemon.Pipeline) bool {
			if ids := p.Steps[0].AgentIDs; len(ids) > 1 {
				t.Fatalf("agents %v of step 1 while handoff %d is open", ids, hid)
			}
			return strings.Contains(p.Note, fmt.Sprintf("handoff %d of agent %d comes to its end", hid, a.ID))
		})
		naming.goOn()
		r.wantHandedOn(p.ID, hid, 2)
		r.wantAtMostLive(1)
		if n := len(r.handoffEvents(hid, "handoff_retried")); n != 1 {
			t.Errorf("the handoff was retried %d times, want once", n)
		}
	})
}

// TestAbortRightAfterResumeLeavesNoAgent: The resumed pipeline is about to go on with the handoff. Then it is aborted
// again, and a person retries the handoff. No agent works, and the next resume goes on.
func TestAbortRightAfterResumeLeavesNoAgent(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		gates := r.gateCommits(toSuccessor, byRun)
		naming, retrying := gates[0], gates[1]
		p, a, release := r.startHeldPipeline("")
		hid := r.handOverHeld(a, release)
		naming.await(t)
		r.abortPipeline(p.ID, "failed pending")
		naming.goOn()
		r.awaitPhase(hid, daemon.Failed)
		r.resumePipeline(p.ID, false)
		retrying.await(t)
		_, err := r.client.RetryHandoff(t.Context(), hid, "")
		wantConflict(t, err, "step_over")
		r.abortPipeline(p.ID, "pending pending")
		retrying.goOn()
		_, err = r.client.RetryHandoff(t.Context(), hid, "")
		wantConflict(t, err, "pipeline_failed")
		r.wantNoMoreAgents(p.ID)
		if h := r.getHandoff(hid); h.Phase != daemon.Failed || h.Error.Code != "step_over" {
			t.Errorf("handoff is %s: %+v", h.Phase, h.Error)
		}
		r.resumePipeline(p.ID, false)
		r.wantHandedOn(p.ID, hid, 2)
		r.wantAtMostLive(1)
	})
}

// TestAbortDuringARetriedHandoffStartsNoSuccessor: A resumed pipeline goes on with a handoff and is then aborted
// again. The handoff must see that its step is over, and start no successor.
func TestAbortDuringARetriedHandoffStartsNoSuccessor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		gates := r.gateCommits(toSuccessor, nth(2, toSuccessor))
		naming, again := gates[0], gates[1]
		p, a, release := r.startHeldPipeline("")
		hid := r.handOverHeld(a, release)
		naming.await(t)
		r.abortPipeline(p.ID, "failed pending")
		naming.goOn()
		r.awaitPhase(hid, daemon.Failed)
		r.resumePipeline(p.ID, false)
		again.await(t)
		r.abortPipeline(p.ID, "failed pending")
		again.goOn()
		r.awaitPhase(hid, daemon.Failed)
		r.wantNoMoreAgents(p.ID)
		if ids := r.getPipeline(p.ID).Steps[0].AgentIDs; len(ids) != 1 {
			t.Errorf("step 1 was worked on by %v, want no successor", ids)
		}
	})
}

// TestStepThatEndsDuringAHandoffGetsNoSuccessor: The pipeline is aborted, or its step runs out of time, while the
// handoff of its agent is about to name a successor. That successor would work outside any step.
func TestStepThatEndsDuringAHandoffGetsNoSuccessor(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"aborted", "timed out"} {
		for _, first := range []string{"end", "successor", "successor's name"} {
			t.Run(how+", the "+first+" first", func(t *testing.T) {
				story(t, func(t *testing.T, r *rig) {
					gates := r.gateCommits(toSuccessor, telling("pipeline_failed"), ofLaunch)
					naming, failing, launching := gates[0], gates[1], gates[2]
					if first != "successor's name" {
						launching.goOn()
					}
					p, a, release := r.startHeldPipeline("")
					hid := r.handOverHeld(a, release)
					naming.await(t)
					done := async(func() error { return nil })
					if how == "aborted" {
						done = async(func() error { _, err := r.client.AbortPipeline(t.Context(), p.ID); return err })
					} else {
						r.runOutOfTime(p.ID, 1)
					}
					failing.await(t)
					r.misbehave("slow-start=1h") // A successor that starts makes no progress.
					if first == "end" {
						failing.goOn()
						r.awaitPipeline(p.ID, daemon.PipelineFailed)
						naming.goOn()
						r.awaitPhase(hid, daemon.Failed)
					} else {
						naming.goOn()
						r.awaitPhase(hid, daemon.Spawning, daemon.AwaitingRegistration)
						launching.await(t)
						failing.goOn()
						r.awaitPipeline(p.ID, daemon.PipelineFailed)
						launching.goOn() // The daemon was about to make a pane, and to give up the predecessor's pane for it.
						r.awaitPhase(hid, daemon.Failed, daemon.Cancelled)
					}
					if err := r.awaitResult(done); err != nil {
						t.Errorf("abort: %v", err)
					}
					r.wantNoMoreAgents(p.ID)
					want := map[string]int{"end": 0, "successor": 1, "successor's name": 1}[first]
					if h := r.getHandoff(hid); len(r.successors(a.ID)) != want || first == "end" && h.Error.Code != "step_over" {
						t.Errorf("handoff %+v with the successors %+v, want %d", h, r.successors(a.ID), want)
					}
					r.misbehave("")
					if how == "aborted" { // Otherwise the step has no time left.
						r.resumePipeline(p.ID, false)
						r.wantHandedOn(p.ID, hid, 2+want)
						r.wantAtMostLive(1)
					}
				})
			})
		}
	}
}

// TestRetryWhileThePipelineFailsStartsOneAgent: A person retries the failed handoff of a step while its pipeline is
// about to fail. Even if the pipeline is resumed too, only one agent works on the step.
func TestRetryWhileThePipelineFailsStartsOneAgent(t *testing.T) {
	t.Parallel()
	t.Run("retry first", func(t *testing.T) {
		story(t, func(t *testing.T, r *rig) {
			failing := r.gateCommits(telling("step_failed"))[0]
			p, a, release := r.startHeldPipeline("")
			r.misbehave("crash-at-start")
			hid := r.handOverHeld(a, release)
			failing.await(t)
			r.misbehave("")
			r.retryHandoff(hid)
			failing.goOn()
			r.wantHandedOn(p.ID, hid, 3)
			r.wantAtMostLive(1)
			r.wantPipelineEvents(p.ID, "pipeline_failed", 0)
		})
	})
	t.Run("resume first", func(t *testing.T) {
		story(t, func(t *testing.T, r *rig) {
			gates := r.gateCommits(telling("step_failed"), byHand)
			failing, retrying := gates[0], gates[1]
			p, a, release := r.startHeldPipeline("")
			r.misbehave("crash-at-start")
			hid := r.handOverHeld(a, release)
			failing.await(t)
			done := async(func() error { _, err := r.client.RetryHandoff(t.Context(), hid, ""); return err })
			retrying.await(t)
			failing.goOn()
			r.awaitPipeline(p.ID, daemon.PipelineFailed)
			r.misbehave("")
			r.resumePipeline(p.ID, false)
			r.awaitStep(p.ID, 1, daemon.StepRunning)
			retrying.goOn()
			wantConflict(t, r.awaitResult(done), "handoff_not_failed")
			r.wantHandedOn(p.ID, hid, 3)
			r.wantAtMostLive(1)
		})
	})
	t.Run("resumed without it", func(t *testing.T) {
		story(t, func(t *testing.T, r *rig) {
			gates := r.gateCommits(nth(2, telling("step_failed")), byHand, ofOutput)
			failing, retrying, leaving := gates[0], gates[1], gates[2]
			p, a, release := r.startHeldPipeline("")
			r.misbehave("crash-at-start")
			hid := r.handOverHeld(a, release)
			r.awaitPipeline(p.ID, daemon.PipelineFailed)
			r.resumePipeline(p.ID, false) // It goes on with the handoff once.
			failing.await(t)
			done := async(func() error { _, err := r.client.RetryHandoff(t.Context(), hid, ""); return err })
			retrying.await(t)
			failing.goOn()
			r.awaitPipeline(p.ID, daemon.PipelineFailed)
			r.misbehave("")
			r.resumePipeline(p.ID, false)
			leaving.await(t)
			retrying.goOn()
			wantConflict(t, r.awaitResult(done), "step_over")
			leaving.goOn()
			p = r.awaitPipeline(p.ID, daemon.PipelineDone)
			if ids := p.Steps[0].AgentIDs; len(ids) != 4 || r.getAgent(ids[3]).PreviousAgentID != nil {
				t.Errorf("step 1 was worked on by %v, want two successors of the first and one anew", ids)
			}
			r.wantAtMostLive(1)
		})
	})
}

// TestMessageAtTheEndOfAStepIsAnsweredOrRefused: A message is sent while the step of its agent is about to end.
// Either the agent gets it and its answer is the output, or the message is refused.
func TestMessageAtTheEndOfAStepIsAnsweredOrRefused(t *testing.T) {
	t.Parallel()
	t.Run("message first", func(t *testing.T) {
		story(t, func(t *testing.T, r *rig) {
			leaving := r.gateCommits(ofOutput)[0]
			r.writeTemplate("one", "developer | prompt: Work. @say Done.")
			r.start()
			id := r.startPipeline("one", "-").ID
			leaving.await(t)
			a := r.getPipeline(id).Steps[0].AgentIDs[0]
			dl := r.sendMessage(a, "and the chimney @say The chimney, too.")
			leaving.goOn()
			p := r.awaitPipeline(id, daemon.PipelineDone)
			r.awaitVerdict(a, dl.ID, daemon.Submitted)
			if got := r.output(p, 1); got != "The chimney, too." {
				t.Errorf("step left %q, want the answer to the message", got)
			}
			r.awaitState(a, daemon.Ended)
			r.wantKinds(a, daemon.KindMessage, daemon.KindExit)
		})
	})
	t.Run("end first", func(t *testing.T) {
		story(t, func(t *testing.T, r *rig) {
			gates := r.gateCommits(ofOutput, ofMessage)
			leaving, sending := gates[0], gates[1]
			r.misbehave("exit-delay=1s")
			r.writeTemplate("one", "developer | prompt: Work. @say Done.")
			r.start()
			id := r.startPipeline("one", "-").ID
			leaving.await(t)
			a := r.getPipeline(id).Steps[0].AgentIDs[0]
			done := async(func() error { _, err := r.client.SendMessage(t.Context(), a, "and the chimney", false); return err })
			sending.await(t)
			leaving.goOn()
			r.awaitStep(id, 1, daemon.StepDone)
			sending.goOn()
			var told *daemon.Error
			if err := r.awaitResult(done); !errors.As(err, &told) || told.Kind != daemon.KindConflict {
				t.Errorf("message: %v, want a conflict", err)
			}
			p := r.awaitPipeline(id, daemon.PipelineDone)
			if got := r.output(p, 1); !strings.HasPrefix(got, "Done.") {
				t.Errorf("step left %q", got)
			}
			r.awaitState(a, daemon.Ended)
			r.wantKinds(a, daemon.KindExit)
		})
	})
}
