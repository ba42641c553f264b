package stories

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
)

// TestAgentThatDoesNotEndIsAlerted: The operator is told that the outgoing agent delays its handoff.
func TestAgentThatDoesNotEndIsAlerted(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
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

func (r *rig) logged() *cmdtest.Printed {
	log := &cmdtest.Printed{}
	r.cfg.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return log
}

func TestLogHoldsNoScreen(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		log := r.logged()
		r.start()
		r.misbehave("crash-at-start")
		a, err := r.client.CreateAgent(t.Context(), daemon.NewAgent{Cwd: r.work})
		if err != nil {
			t.Fatal(err)
		}
		now := r.awaitState(a.ID, daemon.Ended)
		const shown = "scripted crash at start"
		if !strings.Contains(*now.EndReason, shown) {
			t.Errorf("agent ended by %q: want what its pane showed", *now.EndReason)
		}
		r.await("operator told", func() (bool, string) { return len(r.agentEvents(a.ID, "operator_notified")) > 0, "" })
		r.halt() // Now everything is in the log.
		if got := log.String(); strings.Contains(got, shown) || !strings.Contains(got, "agent ended") || !strings.Contains(got, "without being asked") {
			t.Errorf("log:\n%s", got)
		}
	})
}

func TestLogHoldsNoDialog(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.BusyTimeout = 500 * time.Millisecond
		log := r.logged()
		r.start()
		a := r.startAgent(con)
		r.sendMessage(a.ID, ownWork)
		r.awaitState(a.ID, daemon.Waiting)
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Instructing, "busy_timeout")
		const shown = "Do you want to proceed"
		if !strings.Contains(h.Error.Message, shown) {
			t.Errorf("failure %q: want what the pane shows", h.Error.Message)
		}
		r.halt()
		if got := log.String(); strings.Contains(got, shown) || !strings.Contains(got, "a dialog is open: ") {
			t.Errorf("log:\n%s", got)
		}
	})
}
