//go:build e2e

package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/understudyd/understudy/daemon"
)

// TestBrowserByKeyboard: a person starts an agent, stops it, and approves a step, by keyboard alone.
func TestBrowserByKeyboard(t *testing.T) {
	t.Parallel()
	p := openDashboard(newRig(t))
	p.wantMorphs()
	startsAndStopsAnAgent(t, p)
	approvesTheStepItShows(t, p)
}

// startsAndStopsAnAgent starts an agent, and stops it, by keyboard alone.
func startsAndStopsAnAgent(t *testing.T, p *tab) {
	r := p.r
	p.press("/")
	p.wantFocus("the filter", "#filter")
	p.press(kb.Tab)
	p.wantFocus("the button behind it", "[data-open=start-agent]")
	equal(t, "the outline that shows where the focus is", eval[string](p, "getComputedStyle(document.activeElement).outlineStyle"), "solid")
	p.press(kb.Enter)
	p.wantFocus("the dialog's first field", "#start-agent [name=persona]")
	for range 12 { // The focus goes round more than once.
		p.press(kb.Tab)
		if !eval[bool](p, "document.activeElement === document.body || document.activeElement.closest('#start-agent') !== null") {
			t.Errorf("Tab leads out of the dialog to %s", eval[string](p, "document.activeElement.outerHTML"))
		}
	}
	p.press(kb.Escape)
	p.wantFocus("what has opened the dialog", "[data-open=start-agent]")
	p.press(kb.Enter)
	p.press("dev", kb.Tab, r.work, kb.Tab, "look around", kb.Tab, "scout", kb.Enter) // Enter in a field submits the form.
	p.awaitText("main h1", "scout")
	a := r.awaitState(1, daemon.Idle)
	if a.Name != "scout" || a.PersonaSlug() != "developer-con-1" || a.Cwd != r.work {
		t.Errorf("agent %+v", a)
	}
	p.awaitText(".facts .state", "idle")
	p.tabTo("main button[data-confirm*='asks it to exit']")
	p.press(kb.Enter)
	p.awaitText("#confirm[open] h2", "Stop scout (agent 1)?")
	p.press(kb.Escape) // Escape means no.
	p.wantFocus("the button that has asked", "main button[data-confirm*='asks it to exit']")
	// Closing one question must not answer the next one, which opens right after.
	eval[any](p, "(b => { b.click(); document.getElementById('confirm').close('no'); b.click(); })(document.activeElement)")
	p.awaitText("#confirm[open] h2", "Stop scout")
	p.press(kb.Enter)
	r.awaitState(1, daemon.Ended)
	p.awaitText(".facts .state", "ended")
	p.awaitText("#toasts", "asked to exit")
}

// approvesTheStepItShows approves a step by keyboard alone. Another person has approved the previous step
// meanwhile: what this person says about that step must not count for the next one.
func approvesTheStepItShows(t *testing.T, p *tab) {
	r := p.r
	writeTemplate(r, "gated", "developer | approval: true", "reviewer | approval: true")
	p.visit("/")
	run := startPipeline(r, "gated", "sort the parcels")
	approve := fmt.Sprintf("#approval-%d button[data-open=approve]", run.ID)
	p.awaitText("#needs .why", "step 1 of 2, developer")
	p.click(approve)
	p.typeInto("#approve [name=comment]", "about step 1")
	approvePipeline(r, run.ID, "")
	p.awaitText("#needs .why", "step 2 of 2, reviewer")
	p.refused = true
	p.click("#approve .primary")
	p.awaitText("#approve .failed", "waits at step 2 (reviewer) by now")
	p.click("#approve [data-close]")
	p.awaitText("#needs h3", "a test")
	if got := eval[string](p, "document.title"); !strings.HasPrefix(got, "(1)") {
		t.Errorf("title %q", got)
	}
	holds(t, "what a screen reader says", eval[string](p, "document.getElementById('announce').textContent"), "waits for your approval")
	p.takePicture("needs-you")
	p.focus(approve)
	p.press(kb.Enter)
	p.do(chromedp.WaitVisible(chromedp.CSS("#approve")), chromedp.KeyEvent("ship it"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	p.do(chromedp.WaitNotVisible(chromedp.CSS("#approve")))
	awaitPipeline(r, run.ID, daemon.PipelineDone)
	equal(t, "comment", getPipeline(r, run.ID).Steps[1].Comment, "ship it")
	p.visit(fmt.Sprintf("/ui/pipelines/%d", run.ID))
	p.awaitText("main .state", "done")
	p.awaitText("main", "ship it")
	p.takePicture("pipeline")
}

func (p *tab) press(keys ...string) {
	p.r.t.Helper()
	for _, key := range keys {
		p.do(chromedp.KeyEvent(key))
	}
}

// wantFocus waits until the element that has the focus matches the selector.
func (p *tab) wantFocus(what, selector string) {
	p.r.t.Helper()
	p.do(chromedp.WaitVisible(chromedp.CSS(selector + ":focus")))
	if !eval[bool](p, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
		p.r.t.Errorf("the focus is not on %s", what)
	}
}

// tabTo presses Tab until the element that has the focus matches the selector.
func (p *tab) tabTo(selector string) {
	p.r.t.Helper()
	for range 40 {
		p.press(kb.Tab)
		if eval[bool](p, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
	}
	p.r.t.Fatalf("Tab does not lead to %s", selector)
}

// wantMorphs checks on random trees that static/morph.js keeps its promises.
func (p *tab) wantMorphs() {
	p.r.t.Helper()
	type result struct {
		Problems []string `json:"problems"`
		Took     float64  `json:"took"` // in ms, for the random trees
	}
	got := eval[result](p, p.script("morph.js"))
	for _, problem := range got.Problems {
		p.r.t.Errorf("morph: %s", problem)
	}
	p.r.t.Logf("2000 trees took %.0f ms", got.Took)
}
