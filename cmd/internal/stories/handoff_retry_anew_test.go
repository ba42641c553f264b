package stories

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
)

// TestRetryChoosesAnotherSuccessor: the successor cannot be started on the runtime that was chosen. A retry as before fails again; one
// that names another runtime and mode goes on with that, and what it chose is on the row.
func TestRetryChoosesAnotherSuccessor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		var old atomic.Bool
		r.cfg.Settings.Runtimes["opencode"] = serve.RuntimeSettings{Command: []string{"opencode"}}
		r.around(func(c *daemon.Config) {
			version := c.Version
			c.Version = func(ctx context.Context, command []string) string {
				if command[0] == "opencode" && old.Load() {
					return "0.1.0"
				}
				return version(ctx, command)
			}
		})
		r.start()
		a := r.startAgent(con)
		r.misbehave("think=2s")
		id := r.requestHandoffTo(a.ID, []daemon.Heir{{Runtime: "opencode"}})
		r.awaitPhase(id, daemon.AwaitingDocument)
		old.Store(true)
		if h := r.awaitPhase(id, daemon.Failed); h.RecordedAt == nil {
			t.Fatalf("handoff %+v", h)
		}
		r.retryHandoff(id)
		h := r.awaitPhase(id, daemon.Failed)
		for _, in := range []daemon.Retry{{Runtime: "nothing"}, {Runtime: "claude", PermissionMode: "edits"}, {PermissionMode: "--yolo"}} {
			if _, err := r.client.RetryHandoffAs(t.Context(), id, in); err == nil {
				t.Errorf("the retry %+v was taken", in)
			}
		}
		if _, err := r.client.RetryHandoffAs(t.Context(), id, daemon.Retry{Runtime: "claude", PermissionMode: "plan"}); err != nil {
			t.Fatal(err)
		}
		h = r.awaitPhase(id, daemon.Completed)
		next := r.getAgent(*h.SuccessorID)
		if next.Runtime != "claude" || next.PermissionMode != "plan" {
			t.Errorf("the successor runs on %s in the mode %q", next.Runtime, next.PermissionMode)
		}
		if len(h.Heirs) != 1 || h.Heirs[0].Runtime != "claude" || h.Heirs[0].PermissionMode != "plan" {
			t.Errorf("the row names %+v", h.Heirs)
		}
		r.wantTold(a.ID, instructed)
	})
}

// TestRetryKeepsASuccessorThatLives: neither a successor that lives nor one of several heirs changes under the feet of its work.
func TestRetryKeepsASuccessorThatLives(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.misbehave("no-document")
		id := r.requestHandoffTo(a.ID, []daemon.Heir{{}, {}})
		h := r.awaitPhase(id, daemon.Failed)
		_, err := r.client.RetryHandoffAs(t.Context(), h.ID, daemon.Retry{PermissionMode: "plan"})
		wantCode(t, err, "bad_heirs")
		if got := r.getHandoff(id); slices.ContainsFunc(got.Heirs, func(h daemon.HandoffHeir) bool { return h.PermissionMode != "" }) {
			t.Errorf("the heirs are %+v", got.Heirs)
		}
	})
}

func (r *rig) requestHandoffTo(agentID int64, heirs []daemon.Heir) int64 {
	r.t.Helper()
	in, err := r.client.RequestHandoff(r.t.Context(), agentID, daemon.HandoffRequest{Force: true, Heirs: heirs})
	if err != nil {
		r.t.Fatalf("handoff: %v", err)
	}
	return in.HandoffID
}
