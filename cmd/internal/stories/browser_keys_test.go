//go:build e2e

package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/sight"
)

// asPhone makes the tab a phone's: 390 pixels wide, with touch.
func (p *tab) asPhone() {
	p.r.t.Helper()
	p.setScreen(390, "light")
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		points := int64(1)
		_, err := cdp.Call(ctx, t, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true, MaxTouchPoints: points})
		return err
	}))
}

// answersADialog: the card of an agent that asks whether its folder is trusted shows what it says, and its choices as
// buttons, also on a phone. The other tab shows the agent's page.
func answersADialog(t *testing.T, p *tab) (a daemon.Agent, other *tab) {
	r := p.r
	a, d := startAsking(r)
	p.awaitText(".asks pre", "Accessing workspace")
	p.wantReadable("dialog")
	p.wantNames("dialog")
	other = p.openTab(fmt.Sprintf("/ui/agents/%d", a.ID))
	other.awaitText(".asks button", "2. Yes, I trust this folder")
	p.asPhone()
	p.click(fmt.Sprintf("#dialog-%s button:nth-of-type(2)", d.ID))
	p.awaitText("#toasts", "Yes, I trust this folder: the dialog is gone")
	r.awaitAgent(a.ID, "registered", func(a daemon.Agent) bool { return a.RegisteredAt != nil })
	for _, page := range []*tab{p, other} {
		page.awaitNone(".asks")
	}
	if in := r.getAgent(a.ID).DialogAnswer; in == nil || in.From != "browser, from 127.0.0.1" || in.State != daemon.DialogGone {
		t.Errorf("%+v", in)
	}
	return a, other
}

// takesKeys: with the switch on, what is typed on the live screen goes into the pane and is seen there; all open pages say so; it is
// off again after each load.
func takesKeys(t *testing.T, p *tab, a daemon.Agent) {
	r := p.r
	home := p.openTab("/")
	p.awaitText("#screen", "❯")
	p.typeInto("#screen", "unheard")
	p.click("#keys [role=switch]")
	home.awaitText(fmt.Sprintf("#agent-%d .keyed", a.ID), "keys from the browser (browser, from 127.0.0.1)")
	p.awaitText(".keyed", "keys from the browser")
	p.wantReadable("keys")
	p.wantNames("keys")
	p.setScreen(1280, "light")

	p.typeInto("#screen", "say hello; $HOME")
	p.awaitText("#screen", "say hello; $HOME")
	// An answer gets lost: the batch is sent again, and typed once.
	eval[any](p, `(() => { const real = window.fetch; let lost = false; window.fetch = async (url, how) => {
		const answer = await real(url, how);
		if (!lost && how?.method === 'POST' && String(url).endsWith('/keys')) { lost = true; throw new TypeError('lost'); }
		return answer; }; })()`)
	p.typeInto("#screen", "!")
	p.typeInto("#screen", kb.Backspace+"?"+kb.Enter)
	r.await("the prompt", func() (bool, string) { return r.getAgent(a.ID).Asked == "say hello; $HOME?", r.getAgent(a.ID).Asked })
	r.await("the page has shown its end", func() (bool, string) { g := r.getAgent(a.ID); return g.FinishedAt != nil && !g.Unread, "unread" })
	p.awaitText(".facts .state", "idle") // from here on nothing moves under the finger

	p.asPhone()
	p.typeInto("#keys input[name=text]", "from the phone")
	p.click("#keys .primary")
	r.await("the prompt", func() (bool, string) { return r.getAgent(a.ID).Asked == "from the phone", r.getAgent(a.ID).Asked })
	r.awaitState(a.ID, daemon.Idle)
	r.sendMessage(a.ID, "deploy it @ask")
	r.awaitShown(a.ID, "Do you want to proceed?")
	p.click("#keys [data-key=Down]")
	p.click("#keys [data-key=Down]")
	p.click("#keys [data-key=Enter]")
	r.awaitState(a.ID, daemon.Idle)
	p.awaitNone(".permission") // until then the keys move under the finger
	p.refused = true
	p.typeInto("#keys input[name=text]", "not sent")
	p.click("#keys [data-key='Ctrl-C']")
	p.awaitText("#keys .failed", "Ctrl-C interrupts a running turn")

	p.refused = false
	p.visit(fmt.Sprintf("/ui/agents/%d", a.ID))
	if eval[bool](p, "document.querySelector('#keys [role=switch]').checked") {
		t.Error("the switch is on after a load")
	}
	awaitKeysOff(r, a.ID, 1, "browser, from 127.0.0.1")
	home.awaitNone(".keyed")
	p.typeInto("#screen", "unheard")
	wantComposer(r, a.ID, "")
}

// startAsking starts an agent that asks whether its folder is trusted, and returns it with the dialog.
func startAsking(r *rig) (daemon.Agent, sight.Dialog) {
	r.t.Helper()
	r.misbehave("trust")
	a := value(r.client.CreateAgent(r.t.Context(), agents.NewAgent{Persona: con, Cwd: r.work}))(r.t)
	a = awaitAsked(r, a.ID, trusts)
	d := value(r.client.Dialog(r.t.Context(), a.ID))(r.t)
	return a, d
}

func choose(r *rig, agentID int64, dialog string, choice int) (daemon.DialogAnswer, error) {
	return r.client.AnswerDialog(r.t.Context(), agentID, dialog, choice)
}

func awaitKeysOff(r *rig, agentID int64, n int, why string) {
	r.t.Helper()
	r.await("the end of the keys: "+why, func() (bool, string) {
		off := r.agentEvents(agentID, "agent_keys_off")
		return len(off) == n && strings.Contains(off[n-1].Words(), why) && r.getAgent(agentID).Keys == nil, fmt.Sprintf("%+v", off)
	})
}
