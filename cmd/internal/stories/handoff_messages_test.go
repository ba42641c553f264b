package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
)

// TestAgentMessages: the command shows what is queued and what became of the rest, and cancels what is queued.
func TestAgentMessages(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		release := r.holdTurn(a.ID, "long work")
		first, second := r.sendMessage(a.ID, "mend the fence"), r.sendMessage(a.ID, "mend the roof")
		agent := fmt.Sprint(a.ID)
		sit(r, false, "agent", "messages", agent).wantPrintedOnce("2 texts queued: `understudy agent messages 1 --cancel ID")
		sit(r, false, "agent", "messages", agent, "--cancel", fmt.Sprint(first.ID)).wantPrintedOnce("is cancelled: mend the fence")
		again := sit(r, false, "agent", "messages", agent, "--cancel", fmt.Sprint(first.ID))
		if <-again.ended; again.code == commands.ExitDone || !strings.Contains(again.shown(), "can no longer be cancelled") {
			t.Errorf("cancelled twice: %s", again.shown())
		}
		release()
		r.awaitVerdict(a.ID, second.ID, daemon.Submitted)
		r.wantTold(a.ID, "long work", "mend the roof")
		sit(r, false, "agent", "messages", agent, "--cancel", "all").wantPrintedOnce("nothing is queued for agent 1")
		sit(r, false, "agent", "messages", agent).wantPrintedOnce("cancelled by the operator")
	})
}
