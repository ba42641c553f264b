package stories

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
)

// startPaneless makes a session register that runs outside tmux. end ends its process.
func (r *rig) startPaneless() (a daemon.Agent, end func()) {
	r.t.Helper()
	p := r.startPerson(nil)
	p.sendHook("SessionStart", "outside", tmux.PaneInfo{})
	return r.newestAgent(), p.end
}

// wantHandoffRefused requests a handoff, and fails unless the request is refused with this sentence.
func (r *rig) wantHandoffRefused(agentID int64, kind daemon.Kind, sentence string) {
	r.t.Helper()
	_, err := r.client.RequestHandoff(r.t.Context(), agentID, handoffs.HandoffRequest{Force: true})
	wantError(r.t, err, kind, sentence)
}

// TestHandoffRequestsAreRefusedWithTheirSentences: The requests are refused with the contract's sentences, in the
// contract's order.
func TestHandoffRequestsAreRefusedWithTheirSentences(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.Background = string(daemon.BackgroundWait)
		r.start()
		r.wantHandoffRefused(999, daemon.KindNotFound, "Agent not found")

		a, end := r.startPaneless()
		if a.Pane != nil || a.Persona != nil || a.State != daemon.Idle {
			t.Errorf("agent %+v: want one without pane and persona", a)
		}
		r.wantHandoffRefused(a.ID, daemon.KindInvalid, "Agent has no persona")
		_, err := r.client.SendMessage(t.Context(), a.ID, "hello", false)
		wantError(t, err, daemon.KindInvalid, "Agent has no tmux pane")
		r.assignPersona(a.ID, con)
		r.wantHandoffRefused(a.ID, daemon.KindInvalid, "Agent has no tmux pane")
		r.wantKinds(a.ID) // There is no pane to type the skill into.
		end()
		r.awaitState(a.ID, daemon.Ended)
		r.wantHandoffRefused(a.ID, daemon.KindInvalid, "Agent is not active")

		bare := r.startAgent("")
		r.wantHandoffRefused(bare.ID, daemon.KindInvalid, "Agent has no persona")
		r.stopAgent(bare.ID, false)
		r.awaitState(bare.ID, daemon.Ended)
		r.wantHandoffRefused(bare.ID, daemon.KindInvalid, "Agent is not active")

		b := r.startAgent(con)
		release := r.holdTurn(b.ID, "@background")
		r.awaitState(b.ID, daemon.Idle)
		id := r.requestHandoff(b.ID)
		r.wantHandoffRefused(b.ID, daemon.KindConflict, "Handoff already in progress")
		r.awaitNote(id, "background tasks")
		r.wantHandoffRefused(b.ID, daemon.KindConflict, "Handoff already in progress")
		release()
		r.awaitPhase(id, daemon.Completed)
		r.wantHandoffRefused(b.ID, daemon.KindInvalid, "Agent is not active")
	})
}

// TestOneOfTwoRequestsStartsAHandoff: The other one gets 409, and the agent gets one instruction.
func TestOneOfTwoRequestsStartsAHandoff(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		release := r.holdTurn(a.ID, "long work")
		const rounds = 20
		for round := range rounds {
			results := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Force: true})
					results <- err
				}()
			}
			first, second := <-results, <-results
			if first == nil {
				first, second = second, first
			}
			wantError(t, first, daemon.KindConflict, "Handoff already in progress")
			if second != nil {
				t.Fatalf("round %d: both requests were refused: %v", round, second)
			}
			if round < rounds-1 {
				if _, err := r.client.CancelHandoff(t.Context(), a.ID, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		release()
		h, err := r.client.LatestHandoff(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		h = r.awaitPhase(h.ID, daemon.Completed)
		r.wantTold(a.ID, "long work", h.Ref)
		if n := len(r.eventsWhere(func(e event.Event) bool { return e.Type == "handoff_started" })); n != rounds {
			t.Errorf("%d handoffs were started, want %d", n, rounds)
		}
	})
}

// TestDocumentPathIsTheContracts: The daemon makes its folder.
func TestDocumentPathIsTheContracts(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		folder := r.dir.Handoffs(con)
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		name, ok := strings.CutPrefix(h.FilePath, folder+"/")
		at, err := time.Parse("20060102T150405", strings.TrimSuffix(name, "-00000001.md"))
		if !ok || err != nil || a.ID != 1 || h.CreatedAt.Sub(at) > 2*time.Second || !filepath.IsAbs(h.FilePath) {
			t.Errorf("path %s of agent %d at %s (%v)", h.FilePath, a.ID, h.CreatedAt, err)
		}
		if want := data.ContextPath(h.FilePath); *h.ContextPath != want {
			t.Errorf("context %s, want %s", *h.ContextPath, want)
		}
	})
}
