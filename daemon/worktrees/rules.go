package worktrees

import (
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/worktree"
)

// Has reports whether an agent of the tree's host works in it, or has worked there.
func Has(t *daemon.Worktree, a *daemon.Agent) bool {
	return a.WorktreeID != nil && *a.WorktreeID == t.ID || agents.Within(a.Cwd, t.Path)
}

// Place returns what package git must know of the tree.
func Place(t *daemon.Worktree) worktree.Place {
	return worktree.Place{Path: t.Path, Base: t.Base, Copied: t.Copied}
}

// Source returns the folder of the repository that corresponds to Workdir.
func Source(t *daemon.Worktree) string { return t.Repository + strings.TrimPrefix(t.Workdir, t.Path) }
