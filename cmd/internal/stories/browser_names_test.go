//go:build e2e

package stories

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestBrowserHoldsLongNames: names of 76 characters stay in their cards, rows and tables on every page, on a desk and on a phone, and
// the links to all pages can be seen. It keeps pictures, if UNDERSTUDY_SHOTS is set.
func TestBrowserHoldsLongNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.openDashboard()
	name := regexp.MustCompile(`^[a-z-]+-\d$`)
	long := func(text string) string {
		if name.MatchString(text) {
			return text + "-" + strings.Repeat("n", 75-len(text))
		}
		return text
	}
	s := r.stageScene(long, func(text string) string { return text })
	second := daemon.Permission{ID: 900, AgentID: s.agents["asks"], Host: farHost, Tool: "WebFetch", Subject: "https://example.com/" + strings.Repeat("n", 60), Shown: "https://example.com/" + strings.Repeat("n", 60),
		Whole: true, State: daemon.PermissionOpen, AskedAt: s.now, HeldUntil: new(s.now.Add(time.Hour))}
	s.commit(&daemon.Change{NewPermissions: []*daemon.Permission{&second}})
	r.commitAgents(0, 45, strings.Repeat("n", 60))
	p := b.openTab("/")
	if got := eval[int](p, "document.querySelector('#main').innerText.split('permission for Bash').length - 1"); got != 15 {
		t.Errorf("%d cards say what an agent asks permission for, want it once in 15", got) // those of commitAgents have no buttons
	}
	for _, page := range append(s.pages(), page{"persona-lines", "/ui/personas/developer-con-1"}) {
		p.visit(page.path)
		for _, screen := range []struct {
			width  int64
			scheme string
		}{{1280, "dark"}, {390, "light"}} {
			p.setScreen(screen.width, screen.scheme)
			p.takePicture(fmt.Sprintf("names-%s-%d-%s", page.name, screen.width, screen.scheme))
			p.wantFits(page.name)
			for _, problem := range eval[[]string](p, p.script("names.js")) {
				t.Errorf("%s on %d: %s", page.name, screen.width, problem)
			}
		}
	}
}
