//go:build e2e

package stories

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
)

// TestMissingRuntimeEndsNobody: the runtime's command is gone, at the request or after it. No successor could start, so the only
// one who can work lives on.
func TestMissingRuntimeEndsNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	command := filepath.Join(filepath.Dir(r.root), "agent-cli")
	link := func() {
		t.Helper()
		must(t, os.Symlink(cmdtest.AgentProgram(t), command))
	}
	remove := func() {
		t.Helper()
		must(t, os.Remove(command))
	}
	link()
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: []string{command}}}
	r.start()
	a := r.startAgent(con)
	remove()
	_, err := r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Force: true})
	wantRefused(t, err, daemon.CodeRuntimeMissing, command)
	link()

	held, release := newHoldFile(r)
	r.sendMessage(a.ID, "@hold "+held)
	r.awaitState(a.ID, daemon.Working)
	id := r.requestHandoff(a.ID)
	remove()
	release()
	failed := r.awaitFailure(id, daemon.ShuttingDown, string(daemon.CodeRuntimeMissing))
	if now := r.getAgent(a.ID); !now.Active() || now.StopAskedAt != nil || !strings.Contains(failed.Error.Message, command) {
		t.Errorf("agent %s, failure %q", now.State, failed.Error.Message)
	}
	link()
	r.retryHandoff(id)
	h := r.awaitPhase(id, daemon.Completed)
	wantRecord(r, failed, h)
	r.wantOneLive(a.ID, h)
}

// wantRecord fails unless the handoff still has its record.
func wantRecord(r *rig, before, after daemon.Handoff) {
	r.t.Helper()
	if after.RecordedAt == nil || before.RecordedAt == nil || !after.RecordedAt.Equal(*before.RecordedAt) ||
		*after.InjectionPrompt != *before.InjectionPrompt || *after.ContextChecksum != *before.ContextChecksum {
		r.t.Errorf("record\n   was %+v\nand is %+v", before, after)
	}
}

// wantRefused fails unless an error has the code.
func wantRefused(t testing.TB, err error, code daemon.Code, part string) {
	t.Helper()
	var told *daemon.Error
	if !errors.As(err, &told) || told.Code != code || !strings.Contains(told.Message, part) {
		t.Errorf("refused with %v, want %s with %q", err, code, part)
	}
}
