//go:build e2e

package stories

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// roofRepo makes a repository with one commit and a folder in it.
func roofRepo(t *testing.T) cmdtest.Repo {
	g := cmdtest.NewRepo(t)
	g.Write("roof.txt", "a hole\n")
	g.Write("attic/beam.txt", "a beam\n")
	g.Commit(time.Now())
	return g
}

// mainRepo is a repository on the branch main, in which git knows its person.
func mainRepo(t *testing.T) cmdtest.Repo {
	g := roofRepo(t)
	g.Git("branch", "-M", "main")
	g.Git("config", "user.name", "Ada")
	g.Git("config", "user.email", "ada@example.org")
	return g
}

func (r *rig) tree(id int64) worktrees.TreeView {
	r.t.Helper()
	return value(r.client.Worktree(r.t.Context(), id))(r.t)
}

func stopAndAwait(r *rig, id int64) {
	r.t.Helper()
	value(r.client.StopAgent(r.t.Context(), id, false))(r.t)
	r.awaitState(id, daemon.Ended)
}
