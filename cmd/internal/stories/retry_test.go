package stories

import (
	"os"
	"slices"
	"strings"
	"testing"

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
		r.await("late document", func() (bool, string) {
			_, err := os.Stat(h.FilePath)
			return err == nil, "not there"
		})
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
