package stories

import (
	"os"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestTmuxKilledBeforeTheRecordFailsTheHandoff: The agent has ended with its tmux server.
func TestTmuxKilledBeforeTheRecordFailsTheHandoff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := &bomb{act: func(crashPoint, string) { r.killTmux() }}
	r.cfg.Around = b.around
	b.set(crashPoint{"paste", true, 1})
	r.misbehave("think=5000")
	r.start()
	a := r.startAgent("developer-con-1")
	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Failed)
	if h.Error.Code != "agent_gone" || h.RecordedAt != nil {
		t.Errorf("handoff failed with %+v, want agent_gone before the record", h.Error)
	}
	// A person can write the document. The handoff then goes on without the agent.
	if err := os.WriteFile(h.FilePath, []byte("## What Was Done\n\nAll of it.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.misbehave("")
	if _, err := r.client.RetryHandoff(t.Context(), h.ID, ""); err != nil {
		t.Fatal(err)
	}
	r.awaitPhase(h.ID, daemon.Completed)
}
