package stories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// startInTree starts an agent of con in a work tree of its own, and waits until it is idle.
func startInTree(r *rig, dir, branch string) (daemon.Agent, worktrees.TreeView) {
	r.t.Helper()
	a, err := r.client.CreateAgent(r.t.Context(), agents.NewAgent{Persona: con, Cwd: dir, Worktree: &agents.NewWorktree{Branch: branch}})
	if err != nil {
		r.t.Fatalf("start on %q: %v", branch, err)
	}
	a = r.awaitState(a.ID, daemon.Idle)
	return a, r.tree(*a.WorktreeID)
}

func (r *rig) tree(id int64) worktrees.TreeView {
	r.t.Helper()
	v, err := r.client.Worktree(r.t.Context(), id)
	if err != nil {
		r.t.Fatalf("work tree %d: %v", id, err)
	}
	return v
}

// treeDone waits until a task is over, and returns what came of it.
func (r *rig) treeDone(t daemon.Worktree, err error) daemon.TreeOutcome {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("work tree %d: %v", t.ID, err)
	}
	var v worktrees.TreeView
	r.await("end of the task", func() (bool, string) {
		v = r.tree(t.ID)
		return v.Task == nil, fmt.Sprintf("%+v", v.Task)
	})
	return *v.Last
}

func mergeTree(r *rig, id int64) daemon.TreeOutcome {
	r.t.Helper()
	return r.treeDone(r.client.MergeWorktree(r.t.Context(), id, worktrees.TreeMerging{}))
}

func removeTree(r *rig, id int64, in worktrees.TreeRemoval) daemon.TreeOutcome {
	r.t.Helper()
	return r.treeDone(r.client.RemoveWorktree(r.t.Context(), id, in))
}

// wantRefused fails unless an error has the code.
func wantRefused(t testing.TB, err error, code daemon.Code, part string) {
	t.Helper()
	var told *daemon.Error
	if !errors.As(err, &told) || told.Code != code || !strings.Contains(told.Message, part) {
		t.Errorf("refused with %v, want %s with %q", err, code, part)
	}
}

func stopAndAwait(r *rig, id int64) {
	r.t.Helper()
	if _, err := r.client.StopAgent(r.t.Context(), id, false); err != nil {
		r.t.Fatal(err)
	}
	r.awaitState(id, daemon.Ended)
}

// mainRepo is a repository on the branch main, in which git knows its person.
func mainRepo(t *testing.T) cmdtest.Repo {
	g := roofRepo(t)
	g.Git("branch", "-M", "main")
	g.Git("config", "user.name", "Ada")
	g.Git("config", "user.email", "ada@example.org")
	return g
}

// TestAgentsInTreesOfTheirOwn: four agents of one persona work on one repository, each in its own tree. One is merged, one conflicts, and one
// is removed and comes back.
func TestAgentsInTreesOfTheirOwn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := mainRepo(t)
		g.Write(".gitignore", ".env\n")
		g.Write(".worktreeinclude", ".env\n")
		g.Commit(time.Now())
		g.Write(".env", "TOKEN=1\n")
		r.start()
		var agents []daemon.Agent
		var trees []worktrees.TreeView
		paths := map[string]bool{}
		for range 4 {
			a, v := startInTree(r, filepath.Join(g.Dir, "attic"), "")
			if want := fmt.Sprintf("%s-%d", con, a.ID); v.Branch != want || head(r, v.Path) != want || v.Base != "main" || !v.NewBranch {
				t.Errorf("agent %d is on %s (%s) from %s", a.ID, v.Branch, head(r, v.Path), v.Base)
			}
			if cwd := workingDir(r, a.ID); cwd != a.Cwd || cwd != filepath.Join(v.Path, "attic") {
				t.Errorf("agent %d works in %s, its row says %s", a.ID, cwd, a.Cwd)
			}
			if r.readFile(filepath.Join(v.Path, ".env")) != "TOKEN=1\n" || len(v.Copied) != 1 {
				t.Errorf("the copied files are %+v", v.Copied)
			}
			paths[v.Path], agents, trees = true, append(agents, a), append(trees, v)
		}
		if len(paths) != 4 {
			t.Errorf("the trees stand in %v", paths)
		}

		// One is merged, by a fast-forward into the branch that the person has checked out.
		one := cmdtest.RepoAt(t, trees[0].Path)
		one.Write("roof.txt", "mended by one\n")
		_, err := r.client.MergeWorktree(t.Context(), trees[0].ID, worktrees.TreeMerging{})
		wantRefused(t, err, daemon.CodeWorktreeUncommitted, "roof.txt")
		one.Commit(time.Now())
		if out := mergeTree(r, trees[0].ID); !out.Done || !strings.Contains(out.Says, "by a fast-forward") {
			t.Errorf("merge: %+v", out)
		}
		if got := r.readFile(filepath.Join(g.Dir, "roof.txt")); got != "mended by one\n" {
			t.Errorf("the person's file holds %q", got)
		}

		// One conflicts: nothing changes, and its agent can be asked to see to it.
		two := cmdtest.RepoAt(t, trees[1].Path)
		two.Write("roof.txt", "mended by two\n")
		two.Commit(time.Now())
		out := mergeTree(r, trees[1].ID)
		if out.Done || strings.Join(out.Conflicts, " ") != "roof.txt" || !strings.Contains(out.Says, "merge main in the work tree") {
			t.Errorf("conflict: %+v", out)
		}
		if got := r.readFile(filepath.Join(g.Dir, "roof.txt")); got != "mended by one\n" {
			t.Errorf("after the conflict the person's file holds %q", got)
		}

		// One is not removed while its agent works, nor while it holds what is nowhere else.
		id := trees[2].ID
		_, err = r.client.RemoveWorktree(t.Context(), id, worktrees.TreeRemoval{Force: true})
		wantRefused(t, err, daemon.CodeWorktreeUsed, fmt.Sprintf("Agent %d (%s) works in work tree %d", agents[2].ID, agents[2].Name, id))
		stopAndAwait(r, agents[2].ID)
		three := cmdtest.RepoAt(t, trees[2].Path)
		three.Write("third.txt", "committed\n")
		three.Commit(time.Now())
		three.Write("notes.txt", "not committed\n")
		if out := removeTree(r, id, worktrees.TreeRemoval{}); out.Done || !strings.Contains(out.Says, "1 file not committed (notes.txt), and 1 commit that no other branch and no remote has; commit, merge or push") {
			t.Errorf("removal without force: %+v", out)
		}
		if out := removeTree(r, id, worktrees.TreeRemoval{Force: true}); !out.Done || !strings.Contains(out.Says, "understudy worktree restore") {
			t.Errorf("removal: %+v", out)
		}
		wantNoFile(t, trees[2].Path)
		_, err = r.client.ResumeAgent(t.Context(), agents[2].ID)
		wantRefused(t, err, daemon.CodeWorktreeRemoved, fmt.Sprintf("understudy worktree restore %d", id))
		if out := r.treeDone(r.client.RestoreWorktree(t.Context(), id)); !out.Done {
			t.Errorf("restore: %+v", out)
		}
		v := r.tree(id)
		if v.Look.Ahead != 1 || strings.Join(v.Look.Uncommitted, " ") != "notes.txt" || r.readFile(filepath.Join(v.Path, "notes.txt")) != "not committed\n" {
			t.Errorf("it came back as %+v", v.Look)
		}
		list, err := r.client.Worktrees(t.Context(), false)
		if err != nil || len(list) != 4 {
			t.Errorf("%d trees, %v", len(list), err)
		}

		// The merged one needs no force, and its branch goes with it.
		stopAndAwait(r, agents[0].ID)
		if out := removeTree(r, trees[0].ID, worktrees.TreeRemoval{}); !out.Done || !strings.Contains(out.Says, "and its branch") {
			t.Errorf("removal of the merged one: %+v", out)
		}
	})
}

// TestTheTreeBelongsToTheLine: a successor and a resumed agent work in the tree of their predecessor.
func TestTheTreeBelongsToTheLine(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := mainRepo(t)
		r.start()
		a, v := startInTree(r, g.Dir, "line")
		doTurn(r, a.ID, "Look at the roof")
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		next := r.awaitState(*h.SuccessorID, daemon.Idle)
		if next.WorktreeID == nil || *next.WorktreeID != v.ID || workingDir(r, next.ID) != v.Path {
			t.Errorf("the successor works in %s, tree %v", workingDir(r, next.ID), next.WorktreeID)
		}
		stopAndAwait(r, next.ID)
		again, err := r.client.ResumeAgent(t.Context(), next.ID)
		if err != nil || again.WorktreeID == nil || *again.WorktreeID != v.ID {
			t.Fatalf("resumed in %v: %v", again.WorktreeID, err)
		}
		r.awaitState(again.ID, daemon.Idle)
		if v = r.tree(v.ID); !v.InUse || len(v.Agents) != 3 {
			t.Errorf("the tree has the agents %+v", v.Agents)
		}
	})
}

// failingKeeper makes and removes no work tree.
type failingKeeper struct {
	worktree.Keeper
	makes bool
}

var errDiskFull = errors.New("the disk is full")

func (k *failingKeeper) Make(ctx context.Context, s worktree.Spec) (worktree.Made, error) {
	if k.makes {
		return k.Keeper.Make(ctx, s)
	}
	return worktree.Made{}, errDiskFull
}

func (k *failingKeeper) Remove(context.Context, worktree.Removal) (worktree.Removed, error) {
	return worktree.Removed{}, errDiskFull
}

// TestTreeThatCantBeMade: the agent is not started, the operator is told why, and the branch is free again. A tree that can't be removed says why
// it stays.
func TestTreeThatCantBeMade(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g, k := mainRepo(t), &failingKeeper{}
		r.around(func(cfg *engine.Config) { k.Keeper, cfg.Keeper = cfg.Keeper, k })
		r.start()
		a, err := r.client.CreateAgent(t.Context(), agents.NewAgent{Persona: con, Cwd: g.Dir, Worktree: &agents.NewWorktree{Branch: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		a = r.awaitState(a.ID, daemon.Ended)
		if said(a.EndReason) != "not started: the work tree of branch x could not be made: the disk is full" {
			t.Errorf("it ended with %q", said(a.EndReason))
		}
		if v := r.tree(*a.WorktreeID); v.State != daemon.TreeFailed || !strings.Contains(v.Last.Says, "the disk is full") {
			t.Errorf("the tree: %+v", v.Worktree)
		}
		k.makes = true
		next, v := startInTree(r, g.Dir, "x")
		stopAndAwait(r, next.ID)
		if out, want := removeTree(r, v.ID, worktrees.TreeRemoval{}), fmt.Sprintf("Work tree %d stays: the disk is full.", v.ID); out.Done || out.Says != want {
			t.Errorf("%+v, want %q", out, want)
		}
	})
}

// treeOf returns the work tree of a pipeline.
func treeOf(r *rig, pipeline int64) worktrees.TreeView {
	r.t.Helper()
	list, err := r.client.Worktrees(r.t.Context(), true)
	if err != nil {
		r.t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(v worktrees.TreeView) bool { return v.PipelineID != nil && *v.PipelineID == pipeline })
	if i < 0 {
		r.t.Fatalf("pipeline %d has no work tree", pipeline)
	}
	return list[i]
}

// TestTreeOfAMovedRepository: the start says which submodules are empty. A tree whose repository somebody has moved is removed and comes back
// once git knows the new place; until then, the way is named.
func TestTreeOfAMovedRepository(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g, shared := mainRepo(t), mainRepo(t)
		g.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", shared.Dir, "shared")
		g.Commit(time.Now())
		r.start()
		a, v := startInTree(r, g.Dir, "new")
		if v.Last == nil || !strings.Contains(v.Last.Says, "Submodules are empty in the work tree (shared): `git -C "+v.Path+" submodule update") {
			t.Errorf("the start says %+v", v.Last)
		}
		stopAndAwait(r, a.ID)
		if err := os.Rename(g.Dir, g.Dir+"-moved"); err != nil {
			t.Fatal(err)
		}
		if out := removeTree(r, v.ID, worktrees.TreeRemoval{Force: true}); out.Done || !strings.Contains(out.Says, "git worktree repair "+v.Path) {
			t.Errorf("not repaired: %+v", out)
		}
		cmdtest.RepoAt(t, g.Dir+"-moved").Git("worktree", "repair")
		if out := removeTree(r, v.ID, worktrees.TreeRemoval{}); !out.Done {
			t.Errorf("removed: %+v", out)
		}
		if now := r.tree(v.ID); now.Repository != g.Dir+"-moved" || now.State != daemon.TreeRemoved {
			t.Errorf("the row: %+v", now.Worktree)
		}
		if out := r.treeDone(r.client.RestoreWorktree(t.Context(), v.ID)); !out.Done {
			t.Errorf("brought back: %+v", out)
		}
	})
}

// TestRemovalAfterAnAgentHasCome: a removal that was asked while nobody was in the tree is not done once an agent works there.
func TestRemovalAfterAnAgentHasCome(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := mainRepo(t)
		r.start()
		a, v := startInTree(r, g.Dir, "fix")
		store := r.database()
		row, err := store.Worktree(t.Context(), v.ID)
		if err != nil {
			t.Fatal(err)
		}
		row.Task = &daemon.TreeTask{Do: daemon.TreeRemove, Force: true, At: time.Now()}
		if err := store.Commit(t.Context(), &daemon.Change{Worktrees: []*daemon.Worktree{&row}}); err != nil {
			t.Fatal(err)
		}
		if out := r.treeDone(row, nil); out.Done || !strings.Contains(out.Says, fmt.Sprintf("Agent %d (%s) works in work tree %d", a.ID, con, v.ID)) {
			t.Errorf("the removal: %+v", out)
		}
		if _, err := os.Stat(v.Path); err != nil {
			t.Error(err)
		}
	})
}
