//go:build e2e

package stories

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestBrowserDismissesAgentsThatDied: the card of an agent that died has a button that dismisses it, and the card of those that ended
// with their tmux server one for all of them. Then they are among those that ended.
func TestBrowserDismissesAgentsThatDied(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := openDashboard(r)
	alone, first, second := r.startAgent(""), startWorked(r, con), r.startAgent("reviewer-ada-1")
	r.killed(alone.ID)
	killTmux(r)
	awaitTmuxEnds(r, first.ID, second.ID)
	p.awaitText(fmt.Sprintf("#agent-%d .why", first.ID), "2 agents ended with their tmux server")
	p.awaitText("#needs .count", "2")
	p.wantReadable("agents that died")
	p.wantNames("agents that died")
	p.setScreen(390, "dark")
	p.wantFits("agents that died")
	p.setScreen(1100, "light")
	p.takePicture("died")
	for _, a := range []int64{alone.ID, first.ID} {
		p.click(fmt.Sprintf(`#agent-%d [data-call="POST /api/agents/dismiss"]`, a))
		p.awaitNone(fmt.Sprintf("#agent-%d", a))
	}
	for _, a := range []int64{alone.ID, first.ID, second.ID} {
		p.awaitText(fmt.Sprintf("#ended-%d", a), "ago")
		if got := r.getAgent(a); got.DismissedAt == nil {
			t.Errorf("agent %d is not dismissed", a)
		}
	}
}

// awaitTmuxEnds waits until the agents have ended with their tmux server.
func awaitTmuxEnds(r *rig, ids ...int64) {
	r.t.Helper()
	for _, id := range ids {
		equal(r.t, fmt.Sprintf("agent %d ended by", id), *r.awaitState(id, daemon.Ended).EndReason, "tmux_server_gone")
	}
}
