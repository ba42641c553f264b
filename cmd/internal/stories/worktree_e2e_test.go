//go:build e2e

package stories

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// TestAgentTreeSurvivesDaemonKillsAtEveryEffect: the daemon is killed before and after each call of git and each start of an agent,
// while the tree of an agent is made, merged, removed and brought back. Everything happens once, and nothing is lost.
func TestAgentTreeSurvivesDaemonKillsAtEveryEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := mainRepo(t)
	w := startWalk(r, "agent_created", "tree", "spawn")
	var v worktrees.TreeView
	committed, noted := false, false
	ctx := t.Context()
	w.until("the tree merged, removed and restored", func() (bool, string) {
		list, err := r.client.Agents(ctx, allRows)
		switch {
		case err != nil:
			return false, err.Error()
		case len(list) > 1:
			t.Fatalf("%d agents, want one", len(list))
		case len(list) == 0:
			_, err := r.client.CreateAgent(ctx, agents.NewAgent{Persona: con, Cwd: g.Dir, Worktree: &agents.NewWorktree{Branch: "walk"}})
			return false, fmt.Sprint(err)
		}
		a := list[0]
		if v, err = r.client.Worktree(ctx, *a.WorktreeID); err != nil || v.Task != nil {
			return false, fmt.Sprint(err, v.Task)
		}
		last := daemon.TreeOutcome{}
		if v.Last != nil {
			last = *v.Last
		}
		if v.Last != nil && !last.Done {
			t.Fatalf("%s: %s", last.Do, last.Says)
		}
		switch {
		case a.State == daemon.Starting:
		case !committed:
			tree := cmdtest.RepoAt(t, v.Path)
			tree.Write("roof.txt", "mended\n")
			tree.Commit(time.Now())
			committed = true
		case last.Do == "":
			_, err = r.client.MergeWorktree(ctx, v.ID, worktrees.TreeMerging{})
		case a.EndedAt == nil:
			_, err = r.client.StopAgent(ctx, a.ID, false)
		case !noted:
			cmdtest.RepoAt(t, v.Path).Write("notes.txt", "not committed\n")
			noted = true
		case last.Do == daemon.TreeMerge:
			_, err = r.client.RemoveWorktree(ctx, v.ID, worktrees.TreeRemoval{Force: true})
		case last.Do == daemon.TreeRemove:
			_, err = r.client.RestoreWorktree(ctx, v.ID)
		default:
			return countPanes(r) == 0, "panes are left"
		}
		return false, fmt.Sprintf("agent %s, tree %s, last %+v, %v", a.State, v.State, last, err)
	})
	w.end(map[string]int{"tree": 4, "spawn": 1})
	equal(t, "the merge has left", r.readFile(filepath.Join(g.Dir, "roof.txt")), "mended\n")
	if got := r.readFile(filepath.Join(v.Path, "notes.txt")); got != "not committed\n" || strings.Join(v.Look.Uncommitted, " ") != "notes.txt" {
		t.Errorf("what was not committed came back as %q, %v", got, v.Look.Uncommitted)
	}
	for _, once := range []string{"worktree_created", "worktree_merged", "worktree_removed", "worktree_restored"} {
		equal(t, once, len(r.eventsWhere(func(e event.Event) bool { return string(e.Type) == once })), 1)
	}
}
