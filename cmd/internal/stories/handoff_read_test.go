package stories

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestHandoffSaysThatItsSuccessorHasReadIt: The successor reads the document and the context in its first turn.
func TestHandoffSaysThatItsSuccessorHasReadIt(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startSpokenTo()
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		r.awaitRead(h.ID)
		if got := r.getHandoff(h.ID); got.UnreadAt != nil || got.ReadAt.Before(*got.CompletedAt) {
			t.Errorf("read at %v, unread at %v, completed at %v", got.ReadAt, got.UnreadAt, got.CompletedAt)
		}
		if n := len(r.agentEvents(*h.SuccessorID, "handoff_read")); n != 1 {
			t.Errorf("%d events that it was read, want 1", n)
		}
		if n := len(r.agentEvents(*h.SuccessorID, "handoff_unread")); n != 0 {
			t.Errorf("%d alerts that it was not read", n)
		}
	})
}

// TestSuccessorThatDoesNotReadIsTold: The successor goes on without reading. The operator is told once, also if the daemon
// starts again, and the handoff says so. When the successor reads later, the handoff says that.
func TestSuccessorThatDoesNotReadIsTold(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startSpokenTo()
		r.misbehave("no-read")
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		next := *h.SuccessorID
		r.await("the alert", func() (bool, string) { return len(r.agentEvents(next, "handoff_unread")) == 1, r.shown(next) })
		e := r.agentEvents(next, "handoff_unread")[0]
		for _, want := range []string{h.FilePath, *h.ContextPath, "without reading", "understudy agent send"} {
			if !e.Alert || !strings.Contains(e.Words(), want) {
				t.Errorf("the alert (%t) %q does not name %q", e.Alert, e.Words(), want)
			}
		}
		if got := r.getHandoff(h.ID); got.ReadAt != nil || got.UnreadAt == nil {
			t.Errorf("read at %v, unread at %v", got.ReadAt, got.UnreadAt)
		}
		r.halt()
		r.start()
		<-time.After(10 * time.Second) // in the bubble: the daemon that starts could tell it again
		r.misbehave("")
		if _, err := r.client.SendMessage(t.Context(), next, *h.InjectionPrompt, false); err != nil {
			t.Fatal(err)
		}
		r.awaitRead(h.ID)
		if n := len(r.agentEvents(next, "handoff_unread")); n != 1 {
			t.Errorf("the operator was told %d times", n)
		}
	})
}

// awaitRead waits until a handoff says that its successors have read it.
func (r *rig) awaitRead(id int64) {
	r.t.Helper()
	r.await("read_at of the handoff", func() (bool, string) { return r.getHandoff(id).ReadAt != nil, r.report() })
}
