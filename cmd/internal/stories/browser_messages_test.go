//go:build e2e

package stories

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestBrowserShowsAnAgent: the page of an agent shows its messages and its screen, and what a person does there reaches the agent.
func TestBrowserShowsAnAgent(t *testing.T) {
	t.Parallel()
	p := openDashboard(newRig(t))
	a := p.r.startAgent(con)
	p.visit(fmt.Sprintf("/ui/agents/%d", a.ID))
	cancelsMessages(t, p, a)
	takesKeys(t, p, a)
	showsAHostileScreen(t, p, a)
}

// cancelsMessages: the page of an agent has a button for each text that is queued, and one for all.
func cancelsMessages(t *testing.T, p *tab, a daemon.Agent) {
	r := p.r
	release := r.holdTurn(a.ID, "take your time")
	first := r.sendMessage(a.ID, "Mend the fence behind the sheds, and look at the roof while you are there")
	r.sendMessage(a.ID, "Then write down what you have seen")
	p.awaitText("main", "Cancel all 2 queued")
	p.wantReadable("messages")
	p.wantNames("messages")
	p.click(fmt.Sprintf("#delivery-%d button", first.ID))
	p.awaitText("#toasts", fmt.Sprintf("message %d is cancelled", first.ID))
	equal(t, "the evidence", r.awaitVerdict(a.ID, first.ID, daemon.NotSubmitted).Evidence, "cancelled by the operator")
	p.awaitText(fmt.Sprintf("#delivery-%d", first.ID), "not submitted")
	release()
	r.wantTold(a.ID, "take your time", "Then write down what you have seen")
	r.awaitState(a.ID, daemon.Idle)
}
