//go:build e2e

package stories

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/commands"
)

// TestPipelineWaitOutlivesTheDaemon: A daemon that goes away ends neither the pipeline nor the command that watches
// it. In a pipe, SIGINT ends the command and not the pipeline.
func TestPipelineWaitOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.misbehave("think=2s")
	for i, terminal := range []bool{true, false} {
		id := i + 1
		s := sit(r, terminal, "pipeline", "run", "issue_only", "--prompt", "# Sort the list", "--cwd", r.work, "--wait")
		s.awaitPrinted(fmt.Sprintf(`1/1 product-owner .*agent %d`, id), 1)
		r.halt()
		s.awaitPrinted("waits: the daemon is away: start it with\\s+`understudy serve", 1) // The line wraps.
		r.start()
		s.wantExit(commands.ExitDone)
		// The line may wrap.
		s.awaitPrinted(fmt.Sprintf("what came of it:\\s+`understudy pipeline show %d --step 1 --data ", id)+regexp.QuoteMeta(r.root)+"`\\s*$", 1)
		holds(t, fmt.Sprintf("terminal %t", terminal), s.shown(), fmt.Sprintf("pipeline %d (issue_only): Sort the list", id), "✓ 1/1 product-owner ")
	}
	r.misbehave("think=1h")
	s := sit(r, false, "pipeline", "run", "issue_only", "--prompt", "Sort the list", "--cwd", r.work, "--wait")
	s.awaitPrinted(`1/1 product-owner .*agent 3`, 1)
	s.signal(os.Interrupt)
	s.wantEnd(commands.ExitFailed, "understudy: no longer watched; pipeline 3 goes on: `understudy pipeline show 3 --data "+r.root+"` tells how, `understudy pipeline abort 3 --data "+r.root+"` ends it")
	if strings.Contains(s.shown(), "\x1b") {
		t.Errorf("%q", s.shown())
	}
}
