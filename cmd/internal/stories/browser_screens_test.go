//go:build e2e

package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/understudyd/understudy/daemon"
)

// TestBrowserPagesFitAndCanBeRead looks at every page on wide and narrow screens, light and dark. Each page must fit, although names have
// 76 characters; its text must be readable, the links to all pages must be seen, and a screen reader must get a name for everything. With
// UNDERSTUDY_SHOTS it keeps pictures.
func TestBrowserPagesFitAndCanBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := openDashboard(r)
	name := regexp.MustCompile(`^[a-z-]+-\d$`)
	long := func(text string) string {
		if name.MatchString(text) {
			return text + "-" + strings.Repeat("n", 75-len(text))
		}
		return text
	}
	s := stageScene(r, long, func(text string) string { return text })
	second := daemon.Permission{ID: 900, AgentID: s.agents["asks"], Host: farHost, Tool: "WebFetch", Subject: "https://example.com/" + strings.Repeat("n", 60), Shown: "https://example.com/" + strings.Repeat("n", 60),
		Whole: true, State: daemon.PermissionOpen, AskedAt: s.now, HeldUntil: new(s.now.Add(time.Hour))}
	s.commit(&daemon.Change{NewPermissions: []*daemon.Permission{&second}})
	commitAgents(r, 0, 45, strings.Repeat("n", 60))
	p := b.openTab("/")
	if got := eval[int](p, "document.querySelector('#main').innerText.split('permission for Bash').length - 1"); got != 15 {
		t.Errorf("%d cards say what an agent asks permission for, want it once in 15", got) // those of commitAgents have no buttons
	}
	for _, page := range append(s.pages(), page{"persona-lines", "/ui/personas/developer-con-1"}, page{"not-found", "/ui/agents/99999"}) {
		p.refused = page.name == "not-found"
		p.visit(page.path)
		p.wantReadable(page.name)
		p.wantNames(page.name)
	}
	p.visit("/")
	for _, dialog := range eval[[]string](p, "[...document.querySelectorAll('dialog')].map(d => d.id)") {
		eval[any](p, fmt.Sprintf("document.querySelector('#%s h2').append('?'); document.getElementById(%[1]q).showModal()", dialog))
		p.wantNames("dialog " + dialog)
		eval[any](p, fmt.Sprintf("document.getElementById(%q).close()", dialog))
	}
	stranger, stop := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	defer stop()
	out := &tab{r: r, ctx: stranger, b: b}
	out.do(chromedp.Navigate(b.base+"/"), chromedp.WaitVisible(chromedp.CSS("h1")))
	out.wantReadable("signed-out")
	if status := eval[int](out, "fetch('/').then(a => a.status)"); status != http.StatusUnauthorized {
		t.Errorf("a stranger gets status %d", status)
	}
}

// wantReadable fails if the page does not fit its screen, or has text that is hard to read; if long names leave their cards, rows and
// tables; or if the links to all pages cannot be seen.
func (p *tab) wantReadable(what string) {
	p.r.t.Helper()
	for _, screen := range []struct {
		width  int64
		scheme string
		kept   bool // One picture of each width and of each scheme is enough.
	}{{1280, "light", true}, {390, "light", false}, {390, "dark", true}} {
		p.setScreen(screen.width, screen.scheme)
		if screen.kept {
			p.takePicture(fmt.Sprintf("%s-%d-%s", what, screen.width, screen.scheme))
		}
		p.wantFits(what)
		for _, problem := range eval[[]string](p, p.script("contrast.js")) {
			p.r.t.Errorf("%s, %s on %d: contrast %s", what, screen.scheme, screen.width, problem)
		}
		for _, problem := range eval[[]string](p, p.script("names.js")) {
			p.r.t.Errorf("%s on %d: %s", what, screen.width, problem)
		}
	}
}

// spoken are the roles that need a name, because a screen reader says nothing else of them.
var spoken = []string{"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "meter", "dialog", "alertdialog", "region", "navigation",
	"heading", "image", "article", "columnheader"}

// wantNames fails if a screen reader would have no name for something on the page.
func (p *tab) wantNames(what string) {
	p.r.t.Helper()
	tree, err := chromedp.Run(p.ctx, func(ctx context.Context, target *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
		return cdp.Call(ctx, target, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	})
	if err != nil {
		p.r.t.Fatal(err)
	}
	count := map[string]int{}
	for _, node := range tree.Nodes {
		role := spokenValue(node.Role)
		count[role]++
		if !node.Ignored && slices.Contains(spoken, role) && spokenValue(node.Name) == "" {
			p.r.t.Errorf("%s: a %s has no name: node %d", what, role, node.BackendDOMNodeID)
		}
	}
	if strings.HasPrefix(what, "dialog ") {
		return // Nothing else can be reached while the dialog is open.
	}
	for _, landmark := range []string{"banner", "navigation", "main"} {
		if count[landmark] != 1 {
			p.r.t.Errorf("%s has %d of %s", what, count[landmark], landmark)
		}
	}
	levels := eval[[]int](p, `[...document.querySelectorAll('main :is(h1, h2, h3, h4, h5, h6)')].filter(h => h.checkVisibility() && !h.closest('.markdown')).map(h => Number(h.nodeName[1]))`)
	for i, level := range levels {
		if (level == 1) != (i == 0) || i > 0 && level > levels[i-1]+1 {
			p.r.t.Errorf("%s: headings have the levels %v", what, levels)
			break
		}
	}
}

func spokenValue(v *accessibility.Value) (text string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &text) // A value that is no text is no name.
	}
	return text
}

// TestBrowserStartsAndStopsAnAgentByKeyboard starts an agent, and stops it, by keyboard alone.
func TestBrowserStartsAndStopsAnAgentByKeyboard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := openDashboard(r)
	p := b.openTab("/")
	p.wantMorphs()
	p.press("/")
	p.wantFocus("the filter", "#filter")
	p.press(kb.Tab)
	p.wantFocus("the button behind it", "[data-open=start-agent]")
	if outline := eval[string](p, "getComputedStyle(document.activeElement).outlineStyle"); outline != "solid" {
		t.Errorf("where the focus is cannot be seen: outline %s", outline)
	}
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
