package stories

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/handoffs"
)

// TestRetryChoosesAnotherSuccessor: the successor cannot be started on the runtime that was chosen. A retry as before is refused; one
// that names another runtime and mode goes on with that, and what it chose is on the row.
func TestRetryChoosesAnotherSuccessor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		var old atomic.Bool
		r.cfg.Settings.Runtimes["opencode"] = serve.RuntimeSettings{Command: []string{"opencode"}}
		r.around(func(c *engine.Config) {
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
		h := r.awaitPhase(id, daemon.Failed)
		if h.RecordedAt == nil || h.Error.Code != daemon.CodeCannotLaunch || !strings.Contains(h.Error.Message, "is too old") {
			t.Fatalf("handoff %+v, %+v", h, h.Error)
		}
		if now := r.getAgent(a.ID); !now.Active() || now.StopAskedAt != nil {
			t.Errorf("the agent was told to exit for a successor that cannot be started: %+v", now)
		}
		_, err := r.client.RetryHandoff(t.Context(), id, "")
		wantCode(t, err, "cannot_launch")
		for _, in := range []handoffs.Retry{{Runtime: "nothing"}, {Runtime: "claude", PermissionMode: "edits"}, {PermissionMode: "--yolo"}} {
			if _, err := r.client.RetryHandoffAs(t.Context(), id, in); err == nil {
				t.Errorf("the retry %+v was taken", in)
			}
		}
		if _, err := r.client.RetryHandoffAs(t.Context(), id, handoffs.Retry{Runtime: "claude", PermissionMode: "plan"}); err != nil {
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

// TestHandoffThatCannotStartItsSuccessorIsRefused: what the command line of a successor cannot be is said to whoever asks for the handoff.
func TestHandoffThatCannotStartItsSuccessorIsRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Runtimes["opencode"] = serve.RuntimeSettings{Command: []string{"opencode"}}
		r.around(func(c *engine.Config) {
			version := c.Version
			c.Version = func(ctx context.Context, command []string) string {
				if command[0] == "opencode" {
					return "0.1.0"
				}
				return version(ctx, command)
			}
		})
		r.start()
		a := r.startAgent(con)
		_, err := r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Force: true, Heirs: []daemon.Heir{{Runtime: "opencode"}}})
		wantCode(t, err, "cannot_launch")
		if want := "No agent can be started on opencode: OpenCode 0.1.0 is too old to be supervised"; !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if n := len(r.handoffsOf(a.ID)); n != 0 || len(r.told(a.ID)) != 0 {
			t.Errorf("%d handoffs, and the agent was told %q", n, r.told(a.ID))
		}
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
		_, err := r.client.RetryHandoffAs(t.Context(), h.ID, handoffs.Retry{PermissionMode: "plan"})
		wantCode(t, err, "bad_heirs")
		if got := r.getHandoff(id); slices.ContainsFunc(got.Heirs, func(h daemon.HandoffHeir) bool { return h.PermissionMode != "" }) {
			t.Errorf("the heirs are %+v", got.Heirs)
		}
	})
}

func (r *rig) requestHandoffTo(agentID int64, heirs []daemon.Heir) int64 {
	r.t.Helper()
	in, err := r.client.RequestHandoff(r.t.Context(), agentID, handoffs.HandoffRequest{Force: true, Heirs: heirs})
	if err != nil {
		r.t.Fatalf("handoff: %v", err)
	}
	return in.HandoffID
}
