package stories

import (
	"os"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestAgentThatDoesNotExitIsEndedByTheLadder: The daemon ends an agent that does not go when asked, one rung after
// the other. The successor starts all the same.
func TestAgentThatDoesNotExitIsEndedByTheLadder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		behave string
		stages []daemon.StopStage
	}{
		{"ignore-exit", []daemon.StopStage{daemon.StopAsked, daemon.StopTerm}},
		{"ignore-exit,ignore-term", []daemon.StopStage{daemon.StopAsked, daemon.StopTerm, daemon.StopKill}},
	}
	for _, tt := range tests {
		t.Run(tt.behave, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.cfg.Settings.Handoff.ExitTimeout = 300 * time.Millisecond
				r.start()
				a := r.startAgent(con)
				r.misbehave(tt.behave)
				h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
				r.wantStopStages(a.ID, tt.stages...)
				if took := h.CompletedAt.Sub(*h.RecordedAt); took > 10*time.Second {
					t.Errorf("the handoff took %s from its record to its end", took)
				}
				r.wantTold(a.ID, instructed)
			})
		})
	}
}

func TestExitQuestionIsAnswered(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("exit-dialog")
		r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		r.wantStopStages(a.ID, daemon.StopAsked, daemon.StopAnswer)
		if old := r.getAgent(a.ID); old.EndReason == nil || *old.EndReason != "prompt_input_exit" {
			t.Errorf("outgoing agent %+v: want it to have exited by itself", old)
		}
	})
}

// TestSuccessorWaitsForTheProcessToEnd: SessionEnd is only a hint. The successor starts when the process is gone.
func TestSuccessorWaitsForTheProcessToEnd(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		pid := r.pane(a.ID).PID
		r.misbehave("exit-delay=1500ms")
		id := r.requestHandoff(a.ID)
		r.awaitPhase(id, daemon.ShuttingDown)
		r.await("the hint of its SessionEnd", func() (bool, string) { return r.alive(pid) && r.hasEndHint(a.ID), "no SessionEnd" })
		if h := r.getHandoff(id); h.Phase != daemon.ShuttingDown {
			t.Errorf("phase %s while the process is there, want shutting_down", h.Phase)
		}
		r.awaitPhase(id, daemon.Completed)
		r.wantStopStages(a.ID, daemon.StopAsked)
	})
}

func TestMessageToAnEndingAgentIsRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent("")
		r.misbehave("exit-delay=1s")
		r.stopAgent(a.ID, false)
		_, err := r.client.SendMessage(t.Context(), a.ID, "one more thing", false)
		wantCode(t, err, "agent_stopping")
		r.awaitState(a.ID, daemon.Ended)
		r.wantTold(a.ID)
	})
}

// TestAgentThatDoesNotEndIsAlerted: The operator is told that the outgoing agent delays its handoff.
func TestAgentThatDoesNotEndIsAlerted(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.Background = string(daemon.BackgroundWait)
		r.start()
		a := r.startAgent(con)
		h, release := r.handOffBehindTasks(a.ID)
		if n := len(r.handoffEvents(h.ID, "operator_notified")); n != 0 {
			t.Errorf("operator told %d times of a wait that has just begun", n)
		}
		r.backdatePhase(h.ID)
		r.awaitNote(h.ID, "over a minute")
		r.awaitAlert(h.ID, "handoff_waiting")
		release()
		r.awaitPhase(h.ID, daemon.Completed)
	})
}

// TestProcessWronglyTakenForEndedLives: The daemon takes the agent's process for ended by mistake. It kills neither
// the process nor the pane.
func TestProcessWronglyTakenForEndedLives(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		pid := r.pane(a.ID).PID
		store := r.database()
		r.await("the wrong start time committed", func() (bool, string) {
			row, err := store.Agent(t.Context(), a.ID)
			if err != nil {
				return false, err.Error()
			}
			row.PIDStart++
			err = store.Commit(t.Context(), &daemon.Change{Agents: []*daemon.Agent{&row}})
			return err == nil, "another writer was first"
		})
		r.awaitState(a.ID, daemon.Ended)
		r.await("launch files gone", func() (bool, string) { // This is the last thing that the daemon does for an ended agent.
			_, err := os.Stat(r.dir.Launch(a.ID))
			return os.IsNotExist(err), "still there"
		})
		if !r.alive(pid) || r.pane(a.ID).Dead {
			t.Errorf("process %d was ended", pid)
		}
	})
}
