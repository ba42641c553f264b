package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/cmd/internal/show"
)

func TestGenerateShowsItsProgress(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	for _, terminal := range []bool{true, false} {
		a := r.startSpokenTo()
		s := r.sit(terminal, "handoff", fmt.Sprint(a.ID), "--mode", "generate", "--wait")
		s.wantExit(commands.ExitDone)
		s.wantEnd(commands.ExitDone, fmt.Sprintf("look at it: `understudy agent attach %d --data %s`", *r.latestHandoff(a.ID).SuccessorID, r.root), "New session started with handoff context")
		if shown := s.shown(); !strings.Contains(shown, show.GeneratingLabel) || !strings.Contains(shown, "✓ generating ") {
			t.Errorf("terminal %t: %s", terminal, shown)
		}
	}
}
