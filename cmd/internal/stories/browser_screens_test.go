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

	"github.com/understudyd/understudy/daemon"
)

// TestBrowserPagesFitAndCanBeRead looks at every page on wide and narrow screens, light and dark. Each page must fit, although names have
// 76 characters; its text must be readable, the links to all pages must be seen, and a screen reader must get a name for everything. With
// UNDERSTUDY_SHOTS it keeps pictures.
func TestBrowserPagesFitAndCanBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
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
	p := openDashboard(r)
	// Those of commitAgents have no buttons.
	equal(t, "cards that say what an agent asks permission for", eval[int](p, "document.querySelector('#main').innerText.split('permission for Bash').length - 1"), 15)
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
	out := newBrowser(r)
	out.refused = true
	out.do(chromedp.Navigate(out.base+"/"), chromedp.WaitVisible(chromedp.CSS("h1")))
	out.wantReadable("signed-out")
	equal(t, "a stranger gets status", eval[int](out, "fetch('/').then(a => a.status)"), http.StatusUnauthorized)
}

// wantReadable fails if the page does not fit its screen, or has text that is hard to read; if long names leave their cards, rows and
// tables; or if the links to all pages cannot be seen.
func (p *tab) wantReadable(what string) {
	p.r.t.Helper()
	type screen struct {
		width  int64
		scheme string
		kept   bool // One picture of each width and of each scheme is enough.
	}
	screens := []screen{{1280, "light", true}, {390, "light", false}, {390, "dark", true}}
	if eval[int64](p, "innerWidth") == 390 {
		slices.Reverse(screens) // It begins with the screen that the page has: another one is laid out and drawn anew.
	}
	for _, screen := range screens {
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
		equal(p.r.t, what+": of "+landmark, count[landmark], 1)
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
