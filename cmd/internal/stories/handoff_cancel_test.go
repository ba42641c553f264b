package stories

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// TestCancelOfQueuedInstructionLeavesNoTrace: The busy agent never hears of the handoff.
func TestCancelOfQueuedInstructionLeavesNoTrace(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		release := r.holdTurn(a.ID, "long work")
		r.awaitNote(r.requestHandoff(a.ID), noteBusyPart)
		first := r.cancelHandoff(a.ID, daemon.Instructing)
		r.awaitVerdict(a.ID, r.deliveries(a.ID)[1].ID, daemon.NotSubmitted)
		r.awaitDeliveryCount(1, daemon.KindInstruction, daemon.NotSubmitted)
		release()
		r.awaitState(a.ID, daemon.Idle)
		r.wantTold(a.ID, "long work")
		_, err := r.client.CancelHandoff(t.Context(), a.ID, 0)
		wantCode(t, err, "handoff_ended")
		_, err = r.client.RetryHandoff(t.Context(), first.ID, "")
		wantCode(t, err, "handoff_not_failed")

		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		if h.ID == first.ID || h.FilePath == first.FilePath || h.Ref == first.Ref {
			t.Errorf("handoff %+v after the cancelled %+v: want one of its own", h, first)
		}
		r.wantTold(a.ID, "long work", h.Ref)
	})
}

// TestDocumentAfterCancelIsIgnored: What the agent still writes after the cancel completes no handoff.
func TestDocumentAfterCancelIsIgnored(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("think=1m")
		r.awaitPhase(r.requestHandoff(a.ID), daemon.AwaitingDocument)
		first := r.cancelHandoff(a.ID, daemon.AwaitingDocument)
		r.misbehave("")
		r.awaitShown(a.ID, "The handoff document is written")
		r.awaitState(a.ID, daemon.Idle)
		dl := r.sendMessage(a.ID, "still there?")
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		if h := r.getHandoff(first.ID); h.Phase != daemon.Cancelled || h.RecordedAt != nil {
			t.Errorf("cancelled handoff went on: %+v", h)
		}

		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		if h.FilePath == first.FilePath {
			t.Error("a document of the cancelled handoff was taken")
		}
		r.wantTold(a.ID, first.Ref, "still there?", h.Ref)
	})
}

// TestTypedInstructionCanBeCancelled: The confirmation that comes later changes nothing.
func TestTypedInstructionCanBeCancelled(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-prompt-hook,think=1m")
		id := r.requestHandoff(a.ID)
		r.await("instruction typed", func() (bool, string) {
			list := r.deliveries(a.ID)
			return len(list) == 1 && list[0].State == daemon.DeliveryTyped, "not typed"
		})
		r.cancelHandoff(a.ID, daemon.Instructing)
		r.misbehave("")
		r.awaitVerdict(a.ID, r.deliveries(a.ID)[0].ID, daemon.Submitted)
		r.awaitShown(a.ID, "The handoff document is written")
		if h := r.getHandoff(id); h.Phase != daemon.Cancelled {
			t.Errorf("phase %s, want cancelled", h.Phase)
		}
		r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		r.wantKinds(a.ID, daemon.KindInstruction, daemon.KindInstruction, daemon.KindExit)
	})
}

// TestCancelRightAfterRequestWins: The cancel right after the request wins over whatever the flow is about to do.
func TestCancelRightAfterRequestWins(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("think=100ms")
		for range 5 {
			r.requestHandoff(a.ID)
			if h, err := r.client.CancelHandoff(t.Context(), a.ID, 0); err != nil || h.Status != daemon.StatusCancelled {
				t.Fatalf("cancel: %v, handoff is %s", err, h.Status)
			}
		}
		r.misbehave("")
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		for _, e := range r.eventsWhere(func(e event.Event) bool { return e.Type == "handoff_recorded" }) {
			if *e.HandoffID != h.ID {
				t.Errorf("handoff %d was recorded although it was cancelled", *e.HandoffID)
			}
		}
	})
}

func TestCancelAfterRecordIsRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.Background = string(daemon.BackgroundWait)
		r.start()
		a := r.startAgent(con)
		h, release := r.handOffBehindTasks(a.ID)
		_, err := r.client.CancelHandoff(t.Context(), a.ID, 0)
		wantCode(t, err, "handoff_recorded")
		release()
		r.awaitPhase(h.ID, daemon.Completed)
		_, err = r.client.CancelHandoff(t.Context(), a.ID, 0)
		wantCode(t, err, "handoff_recorded")
	})
}

func TestCancelWithoutHandoffIsRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		_, err := r.client.CancelHandoff(t.Context(), a.ID, 0)
		wantError(t, err, daemon.KindNotFound, "Handoff not found")
		_, err = r.client.CancelHandoff(t.Context(), a.ID+1, 0)
		wantError(t, err, daemon.KindNotFound, "Agent not found")

		r.misbehave("no-document")
		r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, "document_missing")
		_, err = r.client.CancelHandoff(t.Context(), a.ID, 0)
		wantCode(t, err, "handoff_ended")
		// A handoff that failed before its record does not prevent a new one.
		r.misbehave("")
		r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	})
}
