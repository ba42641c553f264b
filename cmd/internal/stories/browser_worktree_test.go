//go:build e2e

package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
)

// TestBrowserWorkTree: a person starts an agent in a work tree of its own, merges it, and removes it, all in the browser. What would be
// lost is not removed at the first request, and comes back after the second.
func TestBrowserWorkTree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := mainRepo(t)
	p := openDashboard(r)
	p.click("[data-open=start-agent]")
	p.typeInto("#start-agent [name=cwd]", g.Dir)
	p.typeInto("#start-agent [name=name]", "app")
	p.click("#start-agent [name=worktree]")
	p.takePicture("start-in-worktree")
	p.click("#start-agent .primary")
	p.awaitText("#worktree", "branch app-")
	a := r.awaitState(1, daemon.Idle)
	v := r.tree(*a.WorktreeID)

	tree := cmdtest.RepoAt(t, v.Path)
	tree.Write("roof.txt", "mended\n")
	tree.Commit(time.Now())
	p.visit("/ui/worktrees")
	p.awaitText("#tree-1", "1 ahead")
	p.click("#tree-1 [href$='/diff']")
	p.awaitText("#file-0", "mended")
	p.wantReadable("worktree-diff")
	p.setScreen(1280, "light")
	p.visit("/ui/worktrees")
	equal(t, "the first letter of the branch's name is changed to", eval[string](p, "getComputedStyle(document.querySelector('#tree-1 h2'), '::first-letter').textTransform"), "none")
	p.wantReadable("worktrees")
	p.wantNames("worktrees")
	p.setScreen(1280, "light")
	p.click("#tree-1 [data-call$='/merge']")
	p.click("#confirm [value=yes]")
	p.awaitText("#tree-1", "by a fast-forward")
	p.awaitText("#tree-1", "clean")
	p.wantNone("#tree-1 [data-call$='/merge']")

	stopAndAwait(r, a.ID)
	tree.Write("notes.txt", "not committed\n")
	p.visit(fmt.Sprintf("/ui/agents/%d", a.ID))
	p.awaitText("#worktree", "1 uncommitted")
	p.wantNone("#worktree [data-call$='/merge']")
	p.click("#worktree [data-call$='/remove']")
	p.click("#confirm [value=yes]")
	p.awaitText("#worktree", "1 file not committed (notes.txt)")
	p.wantReadable("agent-worktree-kept")
	p.setScreen(1280, "light")
	p.click("#worktree .danger")
	p.click("#confirm [value=yes]")
	p.awaitText("#worktree", "was removed")
	wantNoFile(t, v.Path)
	p.click("#worktree [data-call$='/restore']")
	p.awaitText("#worktree", "again")
	equal(t, "not committed when it came back", r.tree(v.ID).Look.Uncommitted, []string{"notes.txt"})
}

// wantNone fails if the page has an element.
func (p *tab) wantNone(selector string) {
	p.r.t.Helper()
	equal(p.r.t, selector+" on the page", eval[int](p, fmt.Sprintf("document.querySelectorAll(%q).length", selector)), 0)
}
