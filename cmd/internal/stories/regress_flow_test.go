package stories

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestTimeAwayCountsAgainstNoDeadline: A daemon comes back after more time than a phase may take. It does not fail
// the handoff, because nobody could act meanwhile.
func TestTimeAwayCountsAgainstNoDeadline(t *testing.T) {
	t.Parallel()
	away := func(r *rig, id int64) daemon.Handoff {
		r.halt()
		r.backdatePhase(id)
		r.start()
		return r.awaitPhase(id, daemon.Completed)
	}
	t.Run("instructing", func(t *testing.T) {
		story(t, func(t *testing.T, r *rig) {
			r.start()
			a := r.startAgent(con)
			release := r.holdTurn(a.ID, "long work")
			id := r.requestHandoff(a.ID)
			r.awaitNote(id, noteBusyPart)
			r.halt()
			release()
			r.awaitSpooled(1)
			h := away(r, id)
			r.wantTold(a.ID, "long work", h.Ref)
		})
	})
	t.Run("awaiting_document", func(t *testing.T) {
		story(t, func(t *testing.T, r *rig) {
			r.start()
			a := r.startAgent(con)
			r.misbehave("think=3s")
			id := r.requestHandoff(a.ID)
			r.awaitPhase(id, daemon.AwaitingDocument)
			h := away(r, id)
			r.wantTold(a.ID, h.Ref)
		})
	})
	t.Run("shutting_down", func(t *testing.T) {
		story(t, func(t *testing.T, r *rig) {
			r.start()
			a := r.startAgent(con)
			r.misbehave("exit-delay=1500ms")
			id := r.requestHandoff(a.ID)
			r.await("the hint of its SessionEnd", func() (bool, string) { return r.hasEndHint(a.ID), "no SessionEnd" })
			away(r, id)
			r.wantStopStages(a.ID, daemon.StopAsked)
		})
	})
	t.Run("spawning", func(t *testing.T) {
		story(t, func(t *testing.T, r *rig) {
			var stuck atomic.Bool
			r.bendWith(&bend{spawn: func(ctx context.Context, do func() (tmux.PaneInfo, error)) (tmux.PaneInfo, error) {
				if stuck.Load() {
					<-ctx.Done()
					return tmux.PaneInfo{}, ctx.Err()
				}
				return do()
			}}).start()
			a := r.startAgent(con)
			stuck.Store(true)
			id := r.requestHandoff(a.ID)
			r.awaitPhase(id, daemon.Spawning)
			r.halt()
			stuck.Store(false)
			away(r, id)
		})
	})
	t.Run("awaiting_registration", func(t *testing.T) {
		story(t, func(t *testing.T, r *rig) {
			r.start()
			a := r.startAgent(con)
			r.misbehave("slow-start=1500ms")
			id := r.requestHandoff(a.ID)
			r.awaitPhase(id, daemon.AwaitingRegistration)
			h := away(r, id)
			r.wantTold(*h.SuccessorID, h.Ref)
		})
	})
}

// TestSuccessorIsNotDisturbedBeforeItsBriefing: Until the successor was told what it takes over, it cannot be handed
// over, its predecessor's session cannot be opened again, and the daemon types no message before the injection
// prompt.
func TestSuccessorIsNotDisturbedBeforeItsBriefing(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := newGate(t)
		var armed atomic.Bool
		r.bendWith(&bend{hook: func(in daemon.HookInput, do func() (daemon.HookResult, error)) (daemon.HookResult, error) {
			if in.Event == "SessionStart" && armed.Load() {
				g.pass()
			}
			return do()
		}}).start()
		a := r.startAgent(con)
		armed.Store(true)
		id := r.requestHandoff(a.ID)
		next := *r.awaitPhase(id, daemon.AwaitingRegistration).SuccessorID
		r.wantHandoffRefused(next, daemon.KindConflict, "Handoff already in progress")
		_, err := r.client.ResumeAgent(t.Context(), a.ID)
		wantCode(t, err, "handoff_in_progress")
		dl := r.sendMessage(next, "first things first")
		g.goOn()

		h := r.awaitPhase(id, daemon.Completed)
		r.awaitVerdict(next, dl.ID, daemon.Submitted)
		r.wantTold(next, h.Ref, "first things first")
		r.awaitState(next, daemon.Idle)
		_, err = r.client.ResumeAgent(t.Context(), a.ID)
		wantCode(t, err, "agent_resumed") // Its successor has its work now.
		r.awaitPhase(r.requestHandoff(next), daemon.Completed)
		if n := len(r.successors(a.ID)); n != 1 {
			t.Errorf("%d successors, want 1", n)
		}
	})
}

func TestSessionIsOpenedOnce(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		var both sync.WaitGroup // Both requests are checked before either of them is written.
		both.Add(2)
		var n atomic.Int64
		r.bendWith(&bend{commit: func(c *daemon.Change, do func() error) error {
			if c.NewAgent != nil && c.NewAgent.Resume != "" && n.Add(1) <= 2 {
				both.Done()
				both.Wait()
			}
			return do()
		}}).start()
		a := r.startAgent(con)
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "some work").ID, daemon.Submitted)
		r.awaitState(a.ID, daemon.Idle)
		if _, err := r.client.StopAgent(t.Context(), a.ID, false); err != nil {
			t.Fatal(err)
		}
		r.awaitState(a.ID, daemon.Ended)
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := r.client.ResumeAgent(t.Context(), a.ID)
				results <- err
			}()
		}
		first, second := <-results, <-results
		if first == nil {
			first, second = second, first
		}
		wantCode(t, first, "agent_resumed")
		if second != nil {
			t.Fatalf("both requests were refused: %v", second)
		}
		now := r.awaitState(r.newestAgent().ID, daemon.Idle)
		if *now.SessionID != *a.SessionID || len(r.successors(a.ID)) != 1 {
			t.Errorf("agents %+v: want one with the session", r.successors(a.ID))
		}
		_, err := r.client.ResumeAgent(t.Context(), a.ID)
		wantCode(t, err, "agent_resumed")
	})
}

// TestPersonaIsRefusedDuringLaunch: The persona is given while the launch files are being written.
func TestPersonaIsRefusedDuringLaunch(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g, registers := newGate(t), newGate(t)
		r.bendWith(&bend{
			spawn: func(_ context.Context, do func() (tmux.PaneInfo, error)) (tmux.PaneInfo, error) {
				g.pass()
				return do()
			},
			hook: func(in daemon.HookInput, do func() (daemon.HookResult, error)) (daemon.HookResult, error) {
				if in.Event == "SessionStart" {
					registers.pass()
				}
				return do()
			},
		}).start()
		a, err := r.client.CreateAgent(t.Context(), daemon.NewAgent{Cwd: r.work})
		if err != nil {
			t.Fatal(err)
		}
		g.await(t)
		_, err = r.client.AssignPersona(t.Context(), a.ID, con)
		wantCode(t, err, "agent_starting")
		g.goOn()
		registers.await(t) // It was launched without a persona.
		r.awaitAgent(a.ID, "a pane", func(a daemon.Agent) bool { return a.Pane != nil })
		_, err = r.client.AssignPersona(t.Context(), a.ID, con)
		wantCode(t, err, "agent_starting")
		registers.goOn()
		r.awaitState(a.ID, daemon.Idle)

		// A skill that was given later is in place once it was typed. A session that goes on proves nothing.
		release := r.holdTurn(a.ID, "long work")
		if _, err := r.client.AssignPersona(t.Context(), a.ID, con); err != nil {
			t.Fatal(err)
		}
		r.sendHook(r.newHook(a.ID, "SessionStart", map[string]any{"source": "compact"}))
		if now := r.getAgent(a.ID); now.SkillInjectedAt != nil {
			t.Error("skill injected before it was typed")
		}
		release()
		r.awaitAgent(a.ID, "skill", func(a daemon.Agent) bool { return a.SkillInjectedAt != nil })
		r.wantTold(a.ID, "long work", "you play the persona "+con)
	})
}

// TestStopWithBackgroundTasksIsNotTheDocumentsEnd: The turn ended, but a background task still writes the document.
func TestStopWithBackgroundTasksIsNotTheDocumentsEnd(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-stop,no-document") // The test sends these hooks itself below.
		id := r.requestHandoff(a.ID)
		r.awaitPhase(id, daemon.AwaitingDocument)
		r.sendHook(r.newHook(a.ID, "Stop", map[string]any{
			"stop_hook_active": false, "background_tasks": []map[string]string{{"id": "b1", "status": "running"}},
		}))
		store := r.database()
		h, err := store.Handoff(t.Context(), id)
		if err != nil || h.Phase != daemon.AwaitingDocument || h.StopHook != 0 {
			t.Errorf("phase %s, ended by hook %d (%v): want it to await the document", h.Phase, h.StopHook, err)
		}
		r.writeDocument(h)
		r.sendHook(r.newHook(a.ID, "Stop", map[string]any{"stop_hook_active": false}))
		r.awaitPhase(id, daemon.Completed)
		r.wantTold(a.ID, h.Ref)
	})
}

// TestAgentWhosePaneAnswerIsLateIsKept: tmux makes the pane, but its answer comes too late. The daemon finds the pane
// and keeps the agent.
func TestAgentWhosePaneAnswerIsLateIsKept(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		var lost atomic.Bool
		r.bendWith(&bend{spawn: func(_ context.Context, do func() (tmux.PaneInfo, error)) (tmux.PaneInfo, error) {
			info, err := do()
			if lost.CompareAndSwap(false, true) {
				return tmux.PaneInfo{}, context.DeadlineExceeded
			}
			return info, err
		}}).start()
		a := r.startAgent(con) // It becomes idle.
		if panes, err := r.tmux.List(t.Context()); err != nil || len(panes) != 1 {
			t.Errorf("panes %+v (%v), want one", panes, err)
		}
		r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	})
}

// TestFailedLaunchRemovesItsFiles: They hold the agent's launch secret.
func TestFailedLaunchRemovesItsFiles(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.bendWith(&bend{spawn: func(context.Context, func() (tmux.PaneInfo, error)) (tmux.PaneInfo, error) {
			return tmux.PaneInfo{}, errAway
		}}).start()
		a, err := r.client.CreateAgent(t.Context(), daemon.NewAgent{Cwd: r.work, Persona: con})
		if err != nil {
			t.Fatal(err)
		}
		now := r.awaitState(a.ID, daemon.Ended)
		if !strings.Contains(*now.EndReason, errAway.Error()) {
			t.Errorf("the agent ended by %q", *now.EndReason)
		}
		r.await("launch files gone", func() (bool, string) {
			_, err := os.Stat(r.dir.Launch(a.ID))
			return os.IsNotExist(err), "still there"
		})
	})
}

func TestMessageToAnEndingAgentIsRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent("")
		r.misbehave("exit-delay=1s")
		if _, err := r.client.StopAgent(t.Context(), a.ID, false); err != nil {
			t.Fatal(err)
		}
		_, err := r.client.SendMessage(t.Context(), a.ID, "one more thing", false)
		wantCode(t, err, "agent_stopping")
		r.awaitState(a.ID, daemon.Ended)
		r.wantTold(a.ID)
	})
}

// TestRetryWaitsForTheTurnThatWrites: The agent is writing the document right then.
func TestRetryWaitsForTheTurnThatWrites(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-document")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, "document_missing")
		release := r.holdTurn(a.ID, "write it now")
		r.retryHandoff(h.ID)
		if now := r.awaitNote(h.ID, "in a turn"); now.Phase != daemon.Verifying {
			t.Errorf("phase %s, want verifying", now.Phase)
		}
		r.writeDocument(h)
		release()
		r.awaitPhase(h.ID, daemon.Completed)
		r.wantTold(a.ID, instructed, "write it now")
		r.wantKinds(a.ID, daemon.KindInstruction, daemon.KindMessage, daemon.KindExit)
	})
}
