//go:build e2e

package stories

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestBrowserCancelsMessages: the page of an agent has a button for each text that is queued, and one for all.
func TestBrowserCancelsMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := openDashboard(r)
	a := r.startAgent(con)
	release := r.holdTurn(a.ID, "take your time")
	first := r.sendMessage(a.ID, "Mend the fence behind the sheds, and look at the roof while you are there")
	r.sendMessage(a.ID, "Then write down what you have seen")
	p := b.openTab(fmt.Sprintf("/ui/agents/%d", a.ID))
	p.awaitText("main", "Cancel all 2 queued")
	p.wantReadable("messages")
	p.wantNames("messages")
	p.click(fmt.Sprintf("#delivery-%d button", first.ID))
	p.awaitText("#toasts", fmt.Sprintf("message %d is cancelled", first.ID))
	if got := r.awaitVerdict(a.ID, first.ID, daemon.NotSubmitted); got.Evidence != "cancelled by the operator" {
		t.Errorf("the evidence is %q", got.Evidence)
	}
	p.awaitText(fmt.Sprintf("#delivery-%d", first.ID), "not submitted")
	release()
	r.wantTold(a.ID, "take your time", "Then write down what you have seen")
}

// TestBrowserForcesADocument: a handoff whose generated document says next to nothing goes on with it after a click.
func TestBrowserForcesADocument(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Settings.Handoff.MinWords = 5000
	b := openDashboard(r)
	a := r.startAgent(con)
	doTurn(r, a.ID, "mend the fence")
	id := requestGenerate(r, a.ID, "")
	r.awaitPhase(id, daemon.Failed)
	p := b.openTab(fmt.Sprintf("/ui/handoffs/%d", id))
	p.awaitText("main", "fewer than 5000")
	p.wantReadable("says-nothing")
	p.wantNames("says-nothing")
	p.click(".bar button[data-body*=force]")
	p.awaitText("#confirm", "Hand over with this document?")
	p.click("#confirm .primary")
	p.awaitText("#toasts", fmt.Sprintf("Handoff %d goes on", id))
	if h := r.awaitPhase(id, daemon.Completed); !h.Forced {
		t.Error("the handoff is not forced")
	}
}
