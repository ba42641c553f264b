//go:build e2e

package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestBrowserAnswersAnAgent: cards show what an agent asks, and their buttons answer it.
func TestBrowserAnswersAnAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Settings.Permissions.Hold = 10 * time.Minute
	p := openDashboard(r)
	a, other := answersADialog(t, p)
	answersFromTheCard(t, p, a)
	other.awaitText("dl", "Bash(make deploy)")
}

// answersFromTheCard: a card shows what an agent asks permission for, and its buttons answer: allow once, deny with a sentence,
// allow from now on.
func answersFromTheCard(t *testing.T, p *tab, a daemon.Agent) {
	r := p.r
	ask := func() daemon.Permission {
		asked := askToDeploy(r, a.ID)
		p.awaitText(fmt.Sprintf("#permission-%d pre", asked.ID), "make deploy")
		return asked
	}
	settle := func(id int64, verdict daemon.PermissionVerdict) daemon.Permission {
		got := awaitOutcome(r, id, daemon.PermissionGiven)
		if got.Verdict != verdict || got.From != "browser, from 127.0.0.1" {
			t.Errorf("%+v", got)
		}
		r.awaitState(a.ID, daemon.Idle)
		p.awaitNone(fmt.Sprintf("#permission-%d", id))
		return got
	}
	asked := ask()
	p.awaitText("#announce", "it asks for permission") // what was said of a dialog before may stand for a moment
	if got := eval[string](p, "document.getElementById('announce').textContent"); !strings.HasSuffix(got, ", make deploy") {
		t.Errorf("a screen reader says %q", got)
	}
	p.wantReadable("permission")
	p.wantNames("permission")
	p.click(fmt.Sprintf("#permission-%d .primary", asked.ID))
	settle(asked.ID, daemon.Allow)
	asked = ask()
	p.click(fmt.Sprintf("#permission-%d [data-open=deny]", asked.ID))
	p.typeInto("#deny textarea", "Not on a Friday.")
	p.click("#deny .primary")
	equal(t, "the sentence", settle(asked.ID, daemon.Deny).Sentence, "Not on a Friday.")
	asked = ask()
	p.click(fmt.Sprintf("#permission-%d button:nth-of-type(2)", asked.ID))
	p.awaitText("#confirm-title", "Bash(make deploy)")
	p.click("#confirm .primary")
	settle(asked.ID, daemon.AllowAgent)
}

// askToDeploy has an agent ask for the permission to deploy.
func askToDeploy(r *rig, agentID int64) daemon.Permission {
	r.t.Helper()
	r.sendMessage(agentID, "deploy it @ask")
	var asked daemon.Permission
	r.await("a permission", func() (bool, string) {
		list, err := r.client.Permissions(r.t.Context(), daemon.PermissionFilter{AgentID: agentID, Open: true})
		if err == nil && len(list) == 1 {
			asked = list[0]
		}
		return asked.ID != 0 && r.getAgent(agentID).State == daemon.Waiting, fmt.Sprintf("%+v %v", list, err)
	})
	r.awaitShown(agentID, "Do you want to proceed?")
	return asked
}

// awaitOutcome waits until a permission is in a state.
func awaitOutcome(r *rig, id int64, state daemon.PermissionState) daemon.Permission {
	r.t.Helper()
	var p daemon.Permission
	r.await(fmt.Sprintf("permission %d %s", id, state), func() (bool, string) {
		var err error
		p, err = r.client.Permission(r.t.Context(), id)
		return err == nil && p.State == state, fmt.Sprintf("%+v %v", p, err)
	})
	return p
}
