package stories

import (
	"context"
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
