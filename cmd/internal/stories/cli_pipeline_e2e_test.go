//go:build e2e

package stories

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/commands"
)

// TestPipelineWaitOutlivesTheDaemon: A daemon that goes away ends neither the pipeline nor the command that watches
// it.
func TestPipelineWaitOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		r := newRig(t).start()
		r.misbehave("think=2s")
		s := r.sit(terminal, "pipeline", "run", "issue_only", "--prompt", "# Sort the list", "--cwd", r.work, "--wait")
		s.awaitPrinted(`1/1 product-owner .*agent 1`, 1)
		r.halt()
		s.awaitPrinted("waits: the daemon is away: start it with\\s+`understudy serve", 1) // The line wraps.
		r.start()
		s.wantExit(commands.ExitDone)
		// The line may wrap.
		s.awaitPrinted("what came of it:\\s+`understudy pipeline show 1 --step 1 --data "+regexp.QuoteMeta(r.root)+"`\\s*$", 1)
		if shown := s.shown(); !strings.Contains(shown, "pipeline 1 (issue_only): Sort the list") || !strings.Contains(shown, "✓ 1/1 product-owner ") {
			t.Errorf("terminal %t: %s", terminal, shown)
		}
	}
}

// TestPipelineWaitInAPipeInterruptedEndsTheCommandAlone: SIGINT ends the command and not the pipeline.
func TestPipelineWaitInAPipeInterruptedEndsTheCommandAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.misbehave("think=1h")
	s := r.sit(false, "pipeline", "run", "issue_only", "--prompt", "Sort the list", "--cwd", r.work, "--wait")
	s.awaitPrinted(`1/1 product-owner .*agent 1`, 1)
	s.signal(os.Interrupt)
	s.wantEnd(commands.ExitFailed, "understudy: no longer watched; pipeline 1 goes on: `understudy pipeline show 1 --data "+r.root+"` tells how, `understudy pipeline abort 1 --data "+r.root+"` ends it")
	if strings.Contains(s.shown(), "\x1b") {
		t.Errorf("%q", s.shown())
	}
}
