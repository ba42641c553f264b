//go:build e2e

package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/understudyd/understudy/daemon"
)

// TestBrowserFollowsAndKeepsWhatIsTyped: The page shows what happens as it happens, also after a restart of the
// daemon. It keeps the focus and what the person has typed. All tabs follow the feed by one connection, because a browser allows
// only six for each host.
func TestBrowserFollowsAndKeepsWhatIsTyped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := openDashboard(r)
	p.awaitText("main", "No agent is at work")
	p.takePicture("empty")

	a := r.startAgent("developer-con-1")
	card := fmt.Sprintf("#agent-%d", a.ID)
	p.awaitText(card+" .state", "idle")
	p.typeInto("#filter", "developer")
	release := r.holdTurn(a.ID, "wait")
	p.awaitText(card+" .state", "working")
	equal(t, "the focus and what was typed", eval[string](p, "document.activeElement.id + ' ' + document.activeElement.value"), "filter developer")
	p.typeInto("#filter", " zebra")
	p.do(chromedp.WaitNotVisible(chromedp.CSS(card)))
	p.clearField("#filter")
	p.do(chromedp.WaitVisible(chromedp.CSS(card)))

	log := p.openTab("/ui/log")
	metrics := eval[string](p, "import('/ui/static/session.js').then(s => s.ask('/metrics')).then(a => a.text())")
	holds(t, "two tabs are one reader of the feed", metrics, "understudy_feed_readers 1\n")
	for _, tab := range []*tab{p, log} {
		tab.refused = true
	}
	r.halt()
	p.awaitText("#light[data-state=away]", "the daemon does not answer")
	if !eval[bool](p, "document.body.classList.contains('stale')") {
		t.Error("the page does not say that it is stale")
	}
	p.takePicture("stale")
	release()
	r.awaitShown(a.ID, "❯") // Its turn ends while no daemon listens: the hook is spooled.
	r.start()
	p.awaitText("#light[data-state=live]", "live")
	p.awaitText(card+" .state", "finished")
	awaitLog(r, log)
}

// awaitLog waits until the log page shows every event of the database.
func awaitLog(r *rig, p *tab) {
	r.t.Helper()
	r.await("all events on the page", func() (bool, string) {
		events, err := r.events(context.Background())
		if err != nil {
			return false, err.Error()
		}
		var want []string
		for _, e := range events {
			want = append([]string{fmt.Sprintf("event-%d", e.ID)}, want...)
		}
		got := eval[[]string](p, "[...document.querySelectorAll('.log > li')].map(e => e.id)")
		return strings.Join(got, " ") == strings.Join(want, " "), fmt.Sprintf("got  %v\nwant %v", got, want)
	})
}

// TestBrowserHandsOffByAClick asks for a handoff by a click and follows it to its end.
func TestBrowserHandsOffByAClick(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := openDashboard(r)
	a := r.startAgent("developer-con-1")
	r.sendMessage(a.ID, "look into the parcels")
	r.awaitAgent(a.ID, "a message", func(a daemon.Agent) bool { return a.LastMessage != "" && a.State == daemon.Idle })

	p.awaitText(fmt.Sprintf("#agent-%d .said", a.ID), "parcels")
	p.click(fmt.Sprintf(`#agent-%d button[data-open=hand-off]`, a.ID))
	p.awaitText("#hand-off h2", fmt.Sprintf("(agent %d)", a.ID))
	p.typeInto("#hand-off [name=reason]", "the shift is over")
	p.typeInto("#hand-off [name=focus]", "the migration")
	p.takePicture("dialog")
	p.click("#hand-off .primary")
	p.awaitText("main h1", "Handoff")
	h := r.awaitPhase(1, daemon.Completed)
	if h.Reason != "the shift is over" || h.Focus != "the migration" {
		t.Errorf("reason %q, focus %q", h.Reason, h.Focus)
	}
	p.awaitText("main .state", "completed")
	for _, phase := range []string{"requested", "verifying", "shutting down", "briefing"} {
		p.awaitText("main", phase)
	}
	p.takePicture("handoff")
	p.visit("/ui/handoffs/1/document")
	p.awaitText(".markdown", "What Was Done")
	p.takePicture("document")
	p.visit("/ui/personas/developer-con-1")
	p.awaitText("main", "generation 2")
	p.takePicture("persona")

	p.visit(fmt.Sprintf("/ui/agents/%d", *h.SuccessorID))
	p.awaitText("#screen", "I have taken over")
	p.takePicture("agent")
	p.click("button[data-open=message]")
	p.refused = true
	p.typeInto("#message [name=text]", "/exit")
	p.click("#message .primary")
	p.awaitText("#message .failed", "command") // The dialog stays open and shows the API's own words.
	p.clearField("#message [name=text]")
	p.typeInto("#message [name=text]", "well done")
	p.click("#message .primary")
	p.do(chromedp.WaitNotVisible(chromedp.CSS("#message")))
	p.awaitText("#screen", "well done")
}

// commitAgents puts agents number from to up to, but without it, into the database, with everything that a card can show.
func commitAgents(r *rig, from, to int, hostile string) {
	r.t.Helper()
	store := r.database()
	states := []daemon.AgentState{daemon.Working, daemon.Idle, daemon.Waiting}
	for i := from; i < to; i++ {
		id := value(store.NextID(r.t.Context(), daemon.AgentIDs))(r.t)
		limit, percent, pane, slug := int64(200_000), float64(2*i%100), "%1", "developer-con-1"
		now := time.Now().UTC()
		a := &daemon.Agent{
			ID: id, Name: hostile + fmt.Sprintf("agent-%d", i), Persona: &slug, Runtime: "claude", Host: "elsewhere", State: states[i%3],
			StateAt: now.Add(-time.Duration(i) * time.Minute), CreatedAt: now, RegisteredAt: &now, AgentPane: daemon.AgentPane{Pane: &pane}, AgentSession: daemon.AgentSession{Cwd: hostile + "/w"}, Generation: 1 + i%4,
			AgentContext: daemon.AgentContext{Context: &daemon.ContextUse{Tokens: 2000 * int64(i), Limit: &limit, Percent: &percent, Tier: daemon.TierNormal}},
			AgentTurn:    daemon.AgentTurn{LastMessage: hostile + strings.Repeat("The cause is that a scan within a second overwrites the one before. ", 4)},
		}
		if a.State == daemon.Waiting {
			a.WaitsFor = hostile + "permission for Bash: git push --force origin main"
		}
		must(r.t, store.Commit(r.t.Context(), &daemon.Change{NewAgent: a}))
	}
}

// TestBrowserFirstLoadIsSmall shows the first page of houses of several sizes. It fits its screen, and with two hundred agents
// a browser with an empty cache loads it with few bytes. It keeps pictures, if UNDERSTUDY_SHOTS is set.
func TestBrowserFirstLoadIsSmall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := openDashboard(r)
	had := 0
	for _, n := range []int{0, 3, 50, 200} {
		p.visit("/ui/settings") // which shows no agents
		commitAgents(r, had, n, "")
		had = n
		took := p.firstLoad()
		t.Logf("with %d agents, the first load takes %.0f bytes and %.0f ms", n, took, eval[float64](p, "performance.getEntriesByType('navigation')[0].loadEventEnd"))
		if took == 0 || took > 150_000 {
			t.Errorf("the first load with %d agents takes %.0f bytes, want at most 150000", n, took)
		}
		for _, width := range []int64{1280, 390} {
			p.setScreen(width, "light")
			p.wantFits("the first page")
			p.takePicture(fmt.Sprintf("fleet-%d-%d", n, width))
		}
		p.setScreen(1280, "light")
	}
}

// firstLoad opens the first page with an empty cache, and returns how many bytes the browser has received.
func (p *tab) firstLoad() float64 {
	p.r.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.ClearBrowserCache, cdp.Empty{})
		return err
	}))
	before := p.bytesReceived()
	p.visit("/")
	return p.bytesReceived() - before
}

// TestBrowserDecidesAboutALimit: a person decides by a button that an agent waits for its reset, and then by another one that
// its work is handed over to the fallback.
func TestBrowserDecidesAboutALimit(t *testing.T) {
	t.Parallel()
	r := onLimit(newRig(t), daemon.LimitAsk, fallback)
	p := openDashboard(r)
	a := hitLimit(r, startSpokenTo(r).ID, "usage-limit=1h")
	button := func(do string) string {
		return fmt.Sprintf(`main button[data-call="POST /api/agents/%d/limit"][data-body*="%s"]`, a.ID, do)
	}
	p.awaitText("main", "has hit a usage limit")
	p.takePicture("limited")
	p.click(button("wait"))
	r.awaitAgent(a.ID, "waiting for its reset", func(a daemon.Agent) bool {
		return a.State == daemon.Limited && a.Limit.Do == daemon.LimitWait && a.Limit.By == daemon.LimitByOperator
	})
	p.visit(fmt.Sprintf("/ui/agents/%d", a.ID))
	p.awaitText("main", "it goes on by itself after the reset")
	equal(t, "buttons to wait for an agent that waits", eval[int](p, fmt.Sprintf("document.querySelectorAll(%q).length", button("wait"))), 0)
	p.click(button("hand_over"))
	p.awaitText("dialog[open]", "to a successor on its fallback?")
	p.click("dialog[open] .primary")
	h := awaitLimitHandoff(r, a.ID)
	if next := r.getAgent(*h.SuccessorID); next.Runtime != fallback || h.WrittenBy != daemon.WrittenByFallback {
		t.Errorf("successor on %s, document by %s", next.Runtime, h.WrittenBy)
	}
	p.awaitText("main", "Handoff 1, completed: usage_limit")
}
