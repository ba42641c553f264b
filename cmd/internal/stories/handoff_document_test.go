package stories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
)

// TestRefusedDocumentFailsTheHandoffUntilItIsRight: A document that the check refuses fails the handoff. The outgoing
// agent stays and is told nothing more. Once the document is right, a retry goes on without another instruction.
func TestRefusedDocumentFailsTheHandoffUntilItIsRight(t *testing.T) {
	t.Parallel()
	tests := []struct{ behave, code string }{
		{"no-document", data.DocumentMissing},
		{"empty-document", data.DocumentEmpty},
		{"blank-document", data.DocumentBlank},
		{"directory-document", data.DocumentNotRegular},
		{"symlink-document", data.DocumentOutside},
		{"huge-document=3001", data.DocumentTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.cfg.Settings.Handoff.MaxDocumentBytes = 3000
				r.start()
				a := r.startAgent(con)
				r.awaitVerdict(a.ID, r.sendMessage(a.ID, "some work").ID, daemon.Submitted)
				r.awaitState(a.ID, daemon.Idle)
				r.misbehave(tt.behave)
				h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, tt.code)
				if h.RecordedAt != nil || h.SuccessorID != nil || h.InjectionPrompt != nil {
					t.Errorf("handoff %+v: it is recorded", h)
				}
				if !strings.Contains(h.Error.Message, h.FilePath) {
					t.Errorf("failure %q does not name the document %s", h.Error.Message, h.FilePath)
				}
				if now := r.awaitState(a.ID, daemon.Idle); now.EndedAt != nil {
					t.Errorf("outgoing agent %+v: ended", now)
				}
				r.wantKinds(a.ID, daemon.KindMessage, daemon.KindInstruction)

				r.writeDocument(h)
				r.retryHandoff(h.ID)
				h = r.awaitPhase(h.ID, daemon.Completed)
				if h.Error != nil {
					t.Errorf("completed handoff still has error %+v", h.Error)
				}
				r.wantTold(a.ID, "some work", instructed)
				r.wantKinds(a.ID, daemon.KindMessage, daemon.KindInstruction, daemon.KindExit)
			})
		})
	}
}

// TestStopOfAnEarlierTurnDoesNotCount: It does not count even if it comes in while the agent writes the document.
func TestStopOfAnEarlierTurnDoesNotCount(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		id := r.handOffWhileWriting(a.ID)
		r.sendHook(r.newHook(a.ID, "Stop", map[string]any{"prompt_id": "11111111-2222-4333-8444-555555555555", "stop_hook_active": false}))
		if h := r.getHandoff(id); h.Phase != daemon.AwaitingDocument {
			t.Errorf("phase %s after the Stop of another turn, want awaiting_document", h.Phase)
		}
		r.misbehave("")
		r.awaitPhase(id, daemon.Completed)
		r.wantTold(a.ID, instructed)
	})
}

// TestStopWithoutOpenHandoffIsOrdinary: It does what a Stop does without a handoff.
func TestStopWithoutOpenHandoffIsOrdinary(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		for _, failed := range []bool{false, true} {
			if failed {
				r.misbehave("no-document")
				r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, data.DocumentMissing)
				r.misbehave("")
			}
			before := len(r.agentEvents(a.ID, "agent_idle"))
			dl := r.sendMessage(a.ID, "what is next?")
			r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
			r.await("the end of the turn", func() (bool, string) { return len(r.agentEvents(a.ID, "agent_idle")) > before, "agent not idle" })
			r.awaitState(a.ID, daemon.Idle)
		}
		r.wantTold(a.ID, "what is next?", instructed, "what is next?")
		if h := r.latestHandoff(a.ID); h.Phase != daemon.Failed {
			t.Errorf("handoff is %s, want failed", h.Phase)
		}
	})
}

// TestDocumentOfAnIdleAgentCountsWithoutStop: Esc in the pane sends no hook. The daemon sees that the document is
// there and that the runtime is idle.
func TestDocumentOfAnIdleAgentCountsWithoutStop(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-stop")
		id := r.requestHandoff(a.ID)
		r.awaitPhase(id, daemon.Completed)
		moves, err := r.client.Transitions(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(moves, func(m daemon.Transition) bool {
			return m.To == daemon.Verifying && strings.Contains(m.Cause, "without a Stop")
		}) {
			t.Errorf("moves %+v: want verifying without a Stop", moves)
		}
		r.wantTold(a.ID, instructed)
	})
}

// TestNoStopAndNoDocumentRunsIntoTheDeadline: The handoff then waits until its deadline.
func TestNoStopAndNoDocumentRunsIntoTheDeadline(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.DocumentTimeout = 1500 * time.Millisecond
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-stop,no-document")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.AwaitingDocument, "document_timeout")
		if !strings.Contains(h.Error.Message, "1.5s") {
			t.Errorf("failure %q does not name the limit", h.Error.Message)
		}
		r.awaitState(a.ID, daemon.Idle)
		r.wantKinds(a.ID, daemon.KindInstruction)
	})
}

// TestAgentPastTheDeadlineIsLeftToWrite: The daemon does not interrupt the agent that still works. A retry takes the
// document that it wrote.
func TestAgentPastTheDeadlineIsLeftToWrite(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.DocumentTimeout = 300 * time.Millisecond
		r.start()
		a := r.startAgent(con)
		r.misbehave("think=1m")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.AwaitingDocument, "document_timeout")
		r.misbehave("")
		r.awaitDocument(h)
		r.awaitState(a.ID, daemon.Idle)
		r.retryHandoff(h.ID)
		r.awaitPhase(h.ID, daemon.Completed)
		r.wantTold(a.ID, instructed)
	})
}

// TestRuntimeErrorIsNamedInTheFailure: An error of the API ended the turn.
func TestRuntimeErrorIsNamedInTheFailure(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("api-error")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.AwaitingDocument, "runtime_error")
		if !strings.Contains(h.Error.Message, "rate_limit") || !strings.Contains(h.Error.Message, "429") {
			t.Errorf("failure %q does not name the runtime's error", h.Error.Message)
		}
		r.awaitState(a.ID, daemon.Idle)
		r.misbehave("")
		r.retryHandoff(h.ID)
		r.awaitPhase(h.ID, daemon.Completed)
	})
}

// TestAgentThatDiesWritingFailsTheHandoff: The handoff of an agent that dies while it writes the document fails. A
// retry takes the document that a person writes in its place.
func TestAgentThatDiesWritingFailsTheHandoff(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("crash-on-instruction")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.AwaitingDocument, "agent_gone")
		if !strings.Contains(h.Error.Message, "understudy agent resume") || !strings.Contains(h.Error.Message, h.FilePath) {
			t.Errorf("failure %q names neither the document nor how to open the session again", h.Error.Message)
		}
		r.awaitState(a.ID, daemon.Ended)
		r.misbehave("")
		r.retryHandoff(h.ID)
		h = r.awaitFailure(h.ID, daemon.Verifying, data.DocumentMissing)
		r.writeDocument(h)
		r.retryHandoff(h.ID)
		h = r.awaitPhase(h.ID, daemon.Completed)
		if *h.SuccessorID == a.ID || len(r.successors(a.ID)) != 1 {
			t.Errorf("successors %+v, want one", r.successors(a.ID))
		}
	})
}

// TestLongFocusStandsInAFile: The instruction names a file for a focus that is too long for it.
func TestLongFocusStandsInAFile(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		focus := strings.Repeat("the parser, above all; ", 60)
		in, err := r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Reason: "context full", Focus: focus, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		h := r.awaitPhase(in.HandoffID, daemon.Completed)
		request := strings.TrimSuffix(h.FilePath, ".md") + ".request.md"
		r.wantTold(a.ID, request)
		b, err := os.ReadFile(request)
		if err != nil || !strings.Contains(string(b), strings.TrimSpace(focus)) {
			t.Errorf("%s: %v: %.80q", filepath.Base(request), err, b)
		}
		if h.Reason != "context full" || h.Focus != focus {
			t.Errorf("reason %q, focus %.40q", h.Reason, h.Focus)
		}
	})
}

// lateTerminal delays the first instruction: Paste returns without typing, and types the text later.
type lateTerminal struct {
	engine.Terminal
	held chan func() error
}

func (l *lateTerminal) Paste(ctx context.Context, ref tmux.Ref, text string, opt tmux.PasteOptions) error {
	if strings.Contains(text, instructed) {
		select {
		case l.held <- func() error { return l.Terminal.Paste(context.WithoutCancel(ctx), ref, text, opt) }:
			return nil
		default: // It delays only one.
		}
	}
	return l.Terminal.Paste(ctx, ref, text, opt)
}

// TestUnconfirmedInstructionIsNotTypedTwice: The daemon does not type an unconfirmed text again on a guess. A retry
// takes the document if the text arrived after all. Otherwise it asks anew.
func TestUnconfirmedInstructionIsNotTypedTwice(t *testing.T) {
	t.Parallel()
	for _, arrives := range []bool{true, false} {
		t.Run(fmt.Sprintf("arrives %v", arrives), func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				held := make(chan func() error, 1)
				r.around(func(cfg *engine.Config) {
					open := cfg.Terminal
					cfg.Terminal = func(socket string) (engine.Terminal, error) {
						term, err := open(socket)
						return &lateTerminal{term, held}, err
					}
				})
				r.cfg.Settings.Handoff.AckTimeout = 1500 * time.Millisecond
				r.start()
				a := r.startAgent(con)
				first := r.awaitFailure(r.requestHandoff(a.ID), daemon.Instructing, "instruction_unconfirmed")
				want := []string{first.Ref}
				if arrives {
					if err := (<-held)(); err != nil {
						t.Fatal(err)
					}
					r.personPresses(a.ID, tmux.Enter) // A person finds the text in the composer.
					r.awaitShown(a.ID, "The handoff document is written")
					r.awaitState(a.ID, daemon.Idle)
				}
				if h := r.getHandoff(first.ID); h.Phase != daemon.Failed {
					t.Errorf("handoff went on by itself: %s", h.Phase)
				}
				r.retryHandoff(first.ID)
				h := r.awaitPhase(first.ID, daemon.Completed)
				if !arrives {
					want = []string{h.Ref}
				}
				r.wantTold(a.ID, want...)
				if (h.Ref == first.Ref) != arrives {
					t.Errorf("the ref is %s after %s", h.Ref, first.Ref)
				}
			})
		})
	}
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
