package git

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/worktree"
)

var local = []string{"-c", "protocol.file.allow=always"}

var submodules = fixture{make: func(t testing.TB, root string) {
	inner, mid, r := repoAt(t, root+"/inner"), repoAt(t, root+"/mid"), repoAt(t, root+"/repository")
	must(t, os.CopyFS(inner.Dir, os.DirFS(treeRepo.copied(t)+"/repository")))
	inner.Git("init", "-q", mid.Dir)
	mid.Git(append(local, "submodule", "--quiet", "add", inner.Dir, "deep/er")...)
	mid.Commit(time.Now())
	inner.Git("init", "-q", "-b", "main", r.Dir)
	r.Write(".gitignore", "*.log\n")
	r.Git(append(local, "submodule", "--quiet", "add", mid.Dir, "shared")...)
	r.Commit(time.Now())

	path := root + "/trees/1"
	equal(t, "plan", value(r.plan(worktree.Spec{Branch: "new", Path: path}))(t).Submodules, "shared")
	equal(t, "made", r.make(worktree.Spec{Branch: "new", Path: path}).Submodules, "shared")
	if got := readDir(t, path+"/shared"); len(got) > 0 {
		t.Errorf("the submodule has %q", got)
	}
	r.at(path).Git(append(local, "submodule", "--quiet", "update", "--init", "--recursive")...)
}}

// withSubmodules is a tree of a repository with a submodule in a submodule, all with their files.
func withSubmodules(t *testing.T) (r, tree repo, path string) {
	t.Helper()
	root := submodules.copied(t)
	return repoAt(t, root+"/repository"), repoAt(t, root+"/trees/1"), root + "/trees/1"
}

// TestSubmodulesAreNoObstacle: a tree whose submodules hold nothing of their own is merged, and removed without force.
func TestSubmodulesAreNoObstacle(t *testing.T) {
	t.Parallel()
	r, tree, path := withSubmodules(t)
	tree.commits("one", "1\n")
	place := worktree.Place{Path: path, Base: "main"}
	if l := newKeeper().Look(t.Context(), place); l.Problem != "" || l.Busy != "" || l.UncommittedCount != 0 || l.Ahead != 1 {
		t.Errorf("look: %+v", l)
	}
	if m := r.merge(path, "main"); m.Refused != "" || m.Where != r.Dir {
		t.Errorf("merge: %+v", m)
	}
	removal := worktree.Removal{Place: place, Dir: r.Dir, Branch: "new", DeleteBranch: true, Ref: "refs/understudy/removed/7"}
	out, err := newKeeper().Remove(t.Context(), removal)
	if err != nil || out.Kept != "" || !out.BranchDeleted || !absent(path) || !absent(r.Dir+"/.git/understudy") || !absent(r.Dir+"/.git/worktrees/1") {
		t.Errorf("removed: %+v, %v", out, err)
	}
	r.make(worktree.Spec{Branch: "new", Path: path, Kept: removal.Ref})
	r.at(path).wantTree("new", r.says("rev-parse", "main"), path)
	equal(t, "a pipeline's", value(newTrees(cmdtest.GitTestEnv()).Remove(t.Context(), r.Dir, path))(t), "")
}

// TestSubmodulesAreKept: what only a submodule has is named, and refuses the removal. With force it is kept, and comes back.
func TestSubmodulesAreKept(t *testing.T) {
	t.Parallel()
	r, _, path := withSubmodules(t)
	place := worktree.Place{Path: path, Base: "main"}
	removal := worktree.Removal{Place: place, Dir: r.Dir, Branch: "new", Ref: "refs/understudy/removed/7"}
	refused := func(want string) {
		t.Helper()
		if out, err := newKeeper().Remove(t.Context(), removal); err != nil || !out.Holds || !strings.Contains(out.Kept, want) {
			t.Errorf("removed: %+v, %v; want %s", out, err, want)
		}
		holds(t, "a pipeline's", value(newTrees(cmdtest.GitTestEnv()).Remove(t.Context(), r.Dir, path))(t), want)
	}
	er := r.at(path + "/shared/deep/er")
	er.Write("mine.go", "1\n")
	refused("1 file not committed in the submodule shared/deep/er (mine.go)")
	er.Git("add", "-A")
	er.Git("-c", "user.name=n", "-c", "user.email=e@localhost", "commit", "-qm", "mine")
	tip := er.says("rev-parse", "HEAD")
	er.Git("switch", "-q", "--detach", "HEAD~1")
	er.Git("branch", "mine", tip)
	refused("1 commit of the submodule shared/modules/deep/er that no remote of it has")
	er.Git("switch", "-q", "mine")
	er.Write("a.go", "changed\n")
	r.at(path+"/shared").Write("untracked", "1\n")
	refused("not committed in the submodule shared (")
	if m := r.merge(path, "main"); !m.Already {
		t.Errorf("merge: %+v", m)
	}

	removal.Force = true
	k := NewKeeper(gitThat(t, `case " $* " in *" worktree unlock "*) exit 1;; *" worktree remove "*) echo "fatal: no" >&2; exit 1;; esac; exec "$git" "$@"`))
	failed(k.Remove(t.Context(), removal))(t, "removed")
	for range 2 { // the removal that was cut off after the submodules were put aside goes on, and a step may run twice
		out, err := newKeeper().Remove(t.Context(), removal)
		if err != nil || out.Kept != "" || !out.Ref || !absent(path) {
			t.Fatalf("removed: %+v, %v", out, err)
		}
	}
	for range 2 {
		r.make(worktree.Spec{Branch: "new", Path: path, Kept: removal.Ref})
	}
	for file, want := range map[string]string{"shared/untracked": "1\n", "shared/deep/er/a.go": "changed\n", "shared/deep/er/mine.go": "1\n"} {
		r.at(path).holds(file, want)
	}
	if on, at := er.says("branch", "--show-current"), er.says("rev-parse", "HEAD"); on != "mine" || at != tip {
		t.Errorf("the submodule is on %s at %s", on, at)
	}
	equal(t, "its status is", er.says("status", "--porcelain"), " M a.go")
	if !absent(r.Dir + "/.git/understudy/removed/7") {
		t.Error("the kept submodules are there twice")
	}
	removal.Force = false
	refused("not committed in the submodule shared/deep/er (a.go)")
}

// TestSubmodulesOfOthers: what is no submodule that git has made is left alone, whatever is asked.
func TestSubmodulesOfOthers(t *testing.T) {
	t.Parallel()
	r, _, path := withSubmodules(t)
	other, _ := newTreeRepo(t)
	removal := worktree.Removal{Place: worktree.Place{Path: path}, Dir: r.Dir, Branch: "new", Ref: "refs/understudy/removed/7", Force: true}
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"a link to another", func() {
			_ = os.Rename(r.Dir+"/.git/worktrees/1/modules/shared", r.Dir+"-aside")
			_ = os.Symlink(other.Dir+"/.git", r.Dir+"/.git/worktrees/1/modules/shared")
		}},
		{"another repository", func() { r.at(path).Write("shared/.git", "gitdir: "+other.Dir+"/.git\n") }},
		{"no repository", func() { _ = os.Remove(path + "/shared/.git") }},
		{"a link", func() { _ = os.RemoveAll(path + "/shared"); _ = os.Symlink(other.Dir, path+"/shared") }},
	} {
		c.do()
		if out, err := newKeeper().Remove(t.Context(), removal); err != nil || out.Kept == "" || absent(path) {
			t.Errorf("%s: %+v, %v", c.name, out, err)
		}
	}
	equal(t, "the other repository", other.says("status", "--porcelain")+other.says("for-each-ref", "refs/understudy"), "")
}

// TestManyChanges: 60,000 changed files are counted, not kept; the tree is made.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	blob := r.says("hash-object", "-w", "a.go")
	var entries strings.Builder
	const n = 60_000
	for i := range n {
		fmt.Fprintf(&entries, "100644 %s\t%s/a long name of a file that fills the lists of git %06d.txt\n", blob, strings.Repeat("d", 40), i)
	}
	info := r.Dir + "/.git/many"
	must(t, os.WriteFile(info, []byte(entries.String()), 0o600))
	r.feed(info, "update-index", "--index-info") // the files are not there: all of them were added and deleted
	tree := r.says("write-tree")
	r.Git("reset", "-q", "--soft", r.says("-c", "user.name=n", "-c", "user.email=e@localhost", "commit-tree", "-p", "HEAD", "-m", "many", tree))
	small := r.says("rev-parse", "HEAD~1")

	p, err := r.plan(worktree.Spec{Branch: "new", From: small, Path: path})
	if err != nil || p.Uncommitted != n && p.Counting == "" {
		t.Errorf("plan: %+v, %v", p, err)
	}
	r.make(worktree.Spec{Branch: "new", From: small, Path: path})
	tree1, err := Ask(cmdtest.GitTestEnv())(t.Context(), worktree.Query{Dir: r.Dir})
	if err != nil && !strings.Contains(err.Error(), "took more than") || err == nil && len(tree1.Changed) != maxChanges {
		t.Errorf("asked: %d, %v", len(tree1.Changed), err)
	}
	base, err := NewDiffer(cmdtest.GitTestEnv()).Begin(t.Context(), r.Dir, time.Now())
	if err != nil && !strings.Contains(err.Error(), "took more than") || err == nil && (base.BeforeCount != n || len(base.Before) != worktree.MaxBefore) {
		t.Errorf("began: %d of %d, %v", len(base.Before), base.BeforeCount, err)
	}

	slow := NewKeeper(gitThat(t, `case "$*" in *status*) printf ' M a.go\0 M b.go\0'; exec sleep 1000;; esac; exec $git "$@"`))
	p, err = slow.Plan(t.Context(), worktree.Spec{Dir: r.Dir, Branch: "other", Path: path + "-2"})
	if err != nil || p.Uncommitted != 2 || !strings.Contains(p.Counting, "took more than") {
		t.Errorf("slow: %+v, %v", p, err)
	}
}
