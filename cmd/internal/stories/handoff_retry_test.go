package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// TestLateDocumentCountsForTheRetryOnly: A document that is written after the Stop does not count at that Stop.
func TestLateDocumentCountsForTheRetryOnly(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("late-document=1500ms")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, data.DocumentMissing)
		r.awaitDocument(h)
		if got := r.getHandoff(h.ID); got.Phase != daemon.Failed {
			t.Errorf("handoff went on by itself: %s", got.Phase)
		}
		r.retryHandoff(h.ID)
		r.awaitPhase(h.ID, daemon.Completed)
		r.wantTold(a.ID, instructed)
	})
}

// TestRetryWithoutDocumentInstructsAnew: The new instruction has a ref of its own.
func TestRetryWithoutDocumentInstructsAnew(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-document")
		first := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, data.DocumentMissing)
		r.misbehave("")
		r.retryHandoff(first.ID)
		h := r.awaitPhase(first.ID, daemon.Completed)
		if h.Ref == first.Ref || h.FilePath != first.FilePath {
			t.Errorf("ref %s after %s, document %s after %s: want a new ref and the same document", h.Ref, first.Ref, h.FilePath, first.FilePath)
		}
		r.wantTold(a.ID, first.Ref, h.Ref)
		if !strings.Contains(*h.InjectionPrompt, h.Ref) {
			t.Errorf("injection prompt %q does not carry ref %s", *h.InjectionPrompt, h.Ref)
		}
	})
}

// TestOneOfTwoRetriesSucceeds: Only a failed handoff can be retried.
func TestOneOfTwoRetriesSucceeds(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-document")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, data.DocumentMissing)
		r.misbehave("think=300ms")
		refused := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := r.client.RetryHandoff(t.Context(), h.ID, "")
				refused <- err
			}()
		}
		errs := []error{<-refused, <-refused}
		if slices.Index(errs, nil) < 0 {
			t.Fatalf("both retries were refused: %v", errs)
		}
		for _, err := range errs {
			if err != nil {
				wantCode(t, err, "handoff_not_failed")
			}
		}
		r.awaitPhase(h.ID, daemon.Completed)
		if n := len(r.told(a.ID)); n != 2 {
			t.Errorf("the agent was told %d times, want once by each attempt", n)
		}
		_, err := r.client.RetryHandoff(t.Context(), h.ID, "")
		wantCode(t, err, "handoff_not_failed")
	})
}

// TestRetryByGenerateKeepsABadDocumentAside: In mode generate a retry asks for a new document although a bad one
// exists. The bad one is renamed and kept.
func TestRetryByGenerateKeepsABadDocumentAside(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		f := r.recordForks()
		r.start()
		a := r.startSpokenTo()
		r.misbehave("blank-document")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, "document_blank")
		r.misbehave("")
		r.retryHandoffIn(h.ID, daemon.ModeGenerate)
		h = r.awaitPhase(h.ID, daemon.Completed)
		if n := len(f.prompts()); n != 1 || h.Structured == nil {
			t.Errorf("%d forks wrote the fields %v, want one fork and fields", n, h.Structured)
		}
		aside := strings.TrimSuffix(h.FilePath, ".md") + ".aside.md"
		if strings.TrimSpace(r.readFile(aside)) != "" {
			t.Error("the file that was renamed is not the bad document")
		}
	})
}

// TestRetryRefusesADocumentOlderThanNewWork: The agent was given more work after it wrote the document. The daemon
// does not hand that document over: it asks the agent again, and the new document contains the work.
func TestRetryRefusesADocumentOlderThanNewWork(t *testing.T) {
	t.Parallel()
	for _, mode := range []daemon.Mode{daemon.ModeAgent, daemon.ModeGenerate} {
		t.Run(string(mode), func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.start()
				a := r.startSpokenTo()
				r.misbehave("no-document")
				h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, "document_missing")
				r.writeDocument(h) // The agent was too slow and writes it late.
				r.misbehave("")
				r.talk(a.ID, "and then the renderer")
				r.retryHandoffIn(h.ID, mode)
				h = r.awaitPhase(h.ID, daemon.Completed)
				if !strings.Contains(r.readFile(h.FilePath), "and then the renderer") {
					t.Errorf("the work since is not in the document:\n%s", r.readFile(h.FilePath))
				}
			})
		})
	}
}

func TestRetryTakesADocumentNewerThanThePrompt(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startSpokenTo()
		r.misbehave("no-document")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, "document_missing")
		r.talk(a.ID, "and then the renderer")
		r.writeDocument(h)
		r.retryHandoff(h.ID)
		h = r.awaitPhase(h.ID, daemon.Completed)
		if text := r.readFile(h.FilePath); !strings.Contains(text, "All.") {
			t.Errorf("the document was not taken:\n%s", text)
		}
	})
}

// TestRetryBesideANewHandoffIsRefused: A new handoff is possible after one that failed before its record. The failed
// one cannot be retried beside the new one.
func TestRetryBesideANewHandoffIsRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-document")
		first := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, data.DocumentMissing)
		r.misbehave("")
		release := r.holdTurn(a.ID, "more work")
		second := r.requestHandoff(a.ID)
		_, err := r.client.RetryHandoff(t.Context(), first.ID, "")
		wantError(t, err, daemon.KindConflict, "Handoff already in progress")
		release()
		h := r.awaitPhase(second, daemon.Completed)
		_, err = r.client.RetryHandoff(t.Context(), first.ID, "")
		wantError(t, err, daemon.KindConflict, fmt.Sprintf("Agent %d was handed over by handoff %d", a.ID, second))
		if h.FilePath == first.FilePath || len(r.successors(a.ID)) != 1 {
			t.Errorf("document %s, successors %+v: want a document of its own and one successor", h.FilePath, r.successors(a.ID))
		}
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
		pass(time.Second) // what is written in the moment of the prompt may be older than it
		r.writeDocument(h)
		release()
		r.awaitPhase(h.ID, daemon.Completed)
		r.wantTold(a.ID, instructed, "write it now")
		r.wantKinds(a.ID, daemon.KindInstruction, daemon.KindMessage, daemon.KindExit)
	})
}
