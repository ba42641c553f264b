package show

import (
	"bytes"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
)

// TestPhases: a move prints the phase that it ended, and a retry prints where the handoff goes on.
func TestPhases(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := NewWatcher(&term.UI{Out: &out})
	w.phase(daemon.Transition{From: daemon.Instructing, To: daemon.AwaitingDocument}, &daemon.Handoff{AgentID: 1}, 1500*time.Millisecond)
	w.phase(daemon.Transition{From: daemon.Verifying, To: daemon.Failed}, &daemon.Handoff{}, time.Second)
	w.phase(daemon.Transition{From: daemon.Failed, To: daemon.Verifying}, &daemon.Handoff{}, time.Second)
	const want = `  ✓ instructing                 1.50 s  agent 1 took the instruction
  ✗ verifying                   1.00 s  failed
  ↻ retried: verifying
`
	if out.String() != want {
		t.Errorf("printed:\n%s\nwant:\n%s", &out, want)
	}
}

func TestProgressAfterARetry(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := NewWatcher(&term.UI{Out: &out})
	p.phase(daemon.Transition{From: daemon.Failed, To: daemon.Verifying}, &daemon.Handoff{}, time.Second)
	p.phase(daemon.Transition{From: daemon.Verifying, To: daemon.Instructing, Cause: "retry: document_missing"}, &daemon.Handoff{}, time.Second)
	if want := "  ↻ retried: verifying\n  ✗ verifying                   1.00 s  retry: document_missing\n"; out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out.String(), want)
	}
}
