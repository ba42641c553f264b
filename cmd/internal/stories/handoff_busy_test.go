package stories

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestBusyAgentGetsTheInstructionByItsStop: The daemon types nothing behind a running turn. It answers the turn's
// Stop with the instruction.
func TestBusyAgentGetsTheInstructionByItsStop(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		release := r.holdTurn(a.ID, "long work")
		id := r.requestHandoff(a.ID)
		h := r.awaitNote(id, noteBusyPart)
		if h.Phase != daemon.Instructing {
			t.Errorf("phase %s, want instructing", h.Phase)
		}
		r.wantTold(a.ID, "long work")
		r.wantComposer(a.ID, "")

		release()
		r.awaitPhase(id, daemon.Completed)
		r.wantTold(a.ID, "long work", "Stop hook feedback:\n["+h.Ref)
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindInstruction, daemon.KindExit)
		answered, submitted := r.handoffEvents(id, "delivery_answered"), r.handoffEvents(id, "delivery_submitted")
		if len(answered) != 1 || len(submitted) == 0 || answered[0].ID > submitted[0].ID {
			t.Errorf("answered %v, submitted %v: want an answer that was confirmed afterwards", answered, submitted)
		}
		if e := r.deliveries(a.ID)[1].Evidence; !strings.Contains(e, "stop_hook_active") && !strings.Contains(e, "transcript") {
			t.Errorf("instruction confirmed by %q, want the next Stop or the transcript", e)
		}
	})
}

// TestTurnThatGoesOnTooLongFailsTheHandoff: A turn that goes on for too long fails the handoff. After that the daemon
// leaves the Stop of that turn alone.
func TestTurnThatGoesOnTooLongFailsTheHandoff(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.BusyTimeout = 1500 * time.Millisecond
		r.start()
		a := r.startAgent(con)
		release := r.holdTurn(a.ID, "endless work")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Instructing, "busy_timeout")
		if !strings.Contains(h.Error.Message, "1.5s") || !strings.Contains(h.Error.Message, noteBusyPart) {
			t.Errorf("failure %q names neither the limit nor what the agent did", h.Error.Message)
		}
		if dl := r.deliveries(a.ID)[1]; dl.Verdict == nil || *dl.Verdict != daemon.NotSubmitted {
			t.Errorf("instruction %+v, want not_submitted", dl)
		}
		release()
		r.awaitState(a.ID, daemon.Idle)
		r.wantTold(a.ID, "endless work")

		r.retryHandoff(h.ID)
		r.awaitPhase(h.ID, daemon.Completed)
		r.wantTold(a.ID, "endless work", instructed)
	})
}

// TestOpenDialogIsLeftToAPerson: Only a person answers an open dialog. The daemon types nothing into it and tells the
// operator. The handoff goes on after the answer.
func TestOpenDialogIsLeftToAPerson(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		dl := r.sendMessage(a.ID, "deploy it @ask")
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		r.awaitState(a.ID, daemon.Waiting)
		id := r.requestHandoff(a.ID)
		h := r.awaitNote(id, "a dialog is open")
		r.awaitAlert(id, "handoff_waiting")
		r.awaitShown(a.ID, "Do you want to proceed?")
		r.wantTold(a.ID, "deploy it")

		r.personPresses(a.ID, tmux.Enter)
		r.awaitPhase(id, daemon.Completed)
		r.wantTold(a.ID, "deploy it", h.Ref)
	})
}

func TestUnansweredDialogIsNamedInTheFailure(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.BusyTimeout = 500 * time.Millisecond
		r.start()
		a := r.startAgent(con)
		r.sendMessage(a.ID, "deploy it @ask")
		r.awaitState(a.ID, daemon.Waiting)
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Instructing, "busy_timeout")
		if !strings.Contains(h.Error.Message, "dialog is open") || !strings.Contains(h.Error.Message, "Do you want to proceed?") {
			t.Errorf("failure %q does not name the dialog", h.Error.Message)
		}
		r.awaitShown(a.ID, "Do you want to proceed?")
		r.wantTold(a.ID, "deploy it")
	})
}

// TestInterruptedTurnEndsDespiteABackgroundTask: A turn that a person interrupts is over for the daemon too, even if
// a command of the agent goes on in the background. No hook reports the interrupt, and the runtime does not call that
// agent idle.
func TestInterruptedTurnEndsDespiteABackgroundTask(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.holdTurn(a.ID, "watch it @background")
		r.awaitState(a.ID, daemon.Idle)
		dl := r.sendMessage(a.ID, "think about it @busy 1h")
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		r.awaitState(a.ID, daemon.Working)
		r.personPresses(a.ID, tmux.Escape)
		r.awaitState(a.ID, daemon.Idle)
	})
}

// TestHandoffWaitsForBackgroundTasks: The daemon does not end an agent whose document is recorded while the agent has
// background tasks. The handoff's note says that it waits for them.
func TestHandoffWaitsForBackgroundTasks(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.Background = string(daemon.BackgroundWait)
		r.start()
		a := r.startAgent(con)
		h, release := r.handOffBehindTasks(a.ID)
		if h.Phase != daemon.ShuttingDown || h.RecordedAt == nil || h.SuccessorID != nil {
			t.Errorf("handoff %+v: want one that is recorded and shutting down", h)
		}
		if now := r.getAgent(a.ID); now.State != daemon.Idle {
			t.Errorf("outgoing agent is %s, want idle", now.State)
		}
		release()
		r.awaitPhase(h.ID, daemon.Completed)
		r.wantTold(a.ID, "@background", instructed, "<task-notification>")
	})
}

// TestHandoffGoesOnBesideAServer: a command that the agent has started in the background, such as a server, may run for ever. The
// handoff does not wait for it in either mode, and a warning names it, which the successor reads as well.
func TestHandoffGoesOnBesideAServer(t *testing.T) {
	t.Parallel()
	for _, mode := range []daemon.Mode{daemon.ModeAgent, daemon.ModeGenerate} {
		t.Run(string(mode), func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.start()
				a := r.startAgent(con)
				r.holdTurn(a.ID, "@background")
				r.awaitState(a.ID, daemon.Idle)
				id := int64(0)
				if mode == daemon.ModeAgent {
					id = r.requestHandoff(a.ID)
				} else {
					id = r.requestGenerate(a.ID, "")
				}
				h := r.awaitPhase(id, daemon.Completed)
				const want = "run in the background and end with it"
				if !slices.ContainsFunc(h.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
					t.Errorf("warnings: %q", h.Warnings)
				}
				if text := r.readFile(*h.ContextPath); !strings.Contains(text, want) {
					t.Errorf("context: %s", text)
				}
			})
		})
	}
}

// TestPersonsDraftIsPutBack: The daemon removes the text that a person has begun to type, and puts it back
// afterwards.
func TestPersonsDraftIsPutBack(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.personTypes(a.ID, "half a thought")
		r.awaitShown(a.ID, "half a thought")
		r.misbehave("no-document")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, "document_missing")
		r.awaitShown(a.ID, "❯\u00a0half a thought")
		if got := r.told(a.ID); len(got) != 1 || strings.Contains(got[0], "half a thought") {
			t.Errorf("told %q, want the instruction without the draft", got)
		}
		// The draft does not spoil the /exit command either.
		r.writeDocument(h)
		r.retryHandoff(h.ID)
		r.awaitPhase(h.ID, daemon.Completed)
		old := r.awaitState(a.ID, daemon.Ended)
		if *old.EndReason != "prompt_input_exit" {
			t.Errorf("outgoing agent ended by %s, want its exit command", *old.EndReason)
		}
	})
}
