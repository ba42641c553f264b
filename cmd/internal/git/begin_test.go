package git

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/worktree"
)

// TestBranchOfRemote: a branch that exactly one remote has begins there and follows it, so that a push is no rewrite.
func TestBranchOfRemote(t *testing.T) {
	t.Parallel()
	origin, path := newTreeRepo(t)
	first := origin.says("rev-parse", "HEAD")
	for _, branch := range []string{"feature", "deep/one", "later"} {
		origin.Git("switch", "-q", "-c", branch)
		origin.commits("b.go", branch)
	}
	origin.Git("switch", "-q", "main")
	r := origin.at(realDir(t) + "/a clone")
	origin.Git("clone", "-q", origin.Dir, r.Dir)
	feature := r.says("rev-parse", "origin/feature")

	p, err := r.plan(worktree.Spec{Branch: "feature", Path: path})
	if err != nil || !p.NewBranch || p.Base != "main" || p.BaseCommit != feature {
		t.Errorf("plan: %+v, %v", p, err)
	}
	r.make(worktree.Spec{Branch: "feature", From: p.BaseCommit, Path: path}) // as the daemon does
	tree := r.at(path)
	tree.wantTreeAt("feature", feature)
	equal(t, "it follows", tree.says("rev-parse", "--abbrev-ref", "feature@{upstream}"), "origin/feature")
	tree.commits("c.go", "1\n")
	value(Push(t.Context(), Pushing{Path: path, Environ: cmdtest.GitTestEnv()}, func(Pushed) {}))(t)
	r.add("deep/one", path+"-add").wantTreeAt("deep/one", r.says("rev-parse", "origin/deep/one")) // a pipeline's

	p = value(r.plan(worktree.Spec{Branch: "later", From: "main", Path: path + "-base"}))(t)
	equal(t, "the person has said where it begins", p.BaseCommit, first)
	r.make(worktree.Spec{Branch: "later", From: p.BaseCommit, Path: path + "-base"})
	equal(t, "it follows", r.says("for-each-ref", "--format=%(upstream)", "refs/heads/later"), "")

	r.Git("remote", "add", "-f", "fork", origin.Dir)
	r.Git("branch", "-D", "-r", "origin/feature")
	r.Git("update-ref", "refs/remotes/origin/both", first)
	r.Git("update-ref", "refs/remotes/fork/both", feature)
	failed(r.plan(worktree.Spec{Branch: "both", Path: path + "-both"}))(t, "two remotes", "--base fork/both", "origin/both")
	if _, err := newTrees(cmdtest.GitTestEnv()).Add(t.Context(), r.Dir, "both", path+"-both"); err == nil || !absent(path+"-both") || r.says("branch", "--list", "both") != "" {
		t.Errorf("two remotes: %v", err)
	}
	p, err = r.plan(worktree.Spec{Branch: "both", From: "fork/both", Path: path + "-both"})
	if err != nil || p.BaseCommit != feature || p.Base != "main" {
		t.Errorf("named: %+v, %v", p, err)
	}
	r.Git("config", "checkout.defaultRemote", "fork")
	p = value(r.plan(worktree.Spec{Branch: "both", Path: path + "-both"}))(t)
	equal(t, "the default", p.BaseCommit, feature)
	r.make(worktree.Spec{Branch: "both", From: p.BaseCommit, Path: path + "-both"})
	equal(t, "it follows", r.says("rev-parse", "--abbrev-ref", "both@{upstream}"), "fork/both")
}

// TestBranchNamedLikeSomethingElse: a person who gives the name of a tag, of a remote's branch or of a commit means that, so no branch
// of that name begins at HEAD. Said where it begins, it is made.
func TestBranchNamedLikeSomethingElse(t *testing.T) {
	t.Parallel()
	origin, path := newTreeRepo(t)
	origin.Git("branch", "feature/x")
	r := origin.at(realDir(t) + "/clone")
	origin.Git("clone", "-q", origin.Dir, r.Dir)
	r.Git("tag", "v1.0")
	r.Git("branch", "named")
	r.Git("tag", "named")
	head := r.says("rev-parse", "HEAD")
	for branch, want := range map[string]string{
		"v1.0":             "a tag of that name: give the new branch another name, and begin it there, for example --worktree=NAME --base v1.0",
		"origin/feature/x": "leave out the remote (--worktree=feature/x)", "refs/tags/v1.0": "--base refs/tags/v1.0", head: "--base " + head,
		"named": "", "deadbeef": "", "v1": "",
	} {
		_, err := r.plan(worktree.Spec{Branch: branch, Path: path})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", branch, err, want)
		}
		if _, err := r.plan(worktree.Spec{Branch: branch, From: "main", Path: path}); err != nil && branch != "named" {
			t.Errorf("%s, begun at main: %v", branch, err)
		}
	}
}

// wantTreeAt compares the branch and the commit of a tree.
func (r repo) wantTreeAt(branch, commit string) {
	r.T.Helper()
	if on, at := r.says("branch", "--show-current"), r.says("rev-parse", "HEAD"); on != branch || at != commit {
		r.T.Errorf("the tree is on %s at %s, want %s at %s", on, at, branch, commit)
	}
}

// TestUndoneBranchOfRemote: the branch and what it follows are unmade as well.
func TestUndoneBranchOfRemote(t *testing.T) {
	t.Parallel()
	origin, path := newTreeRepo(t)
	origin.Git("branch", "feature")
	r := origin.at(realDir(t) + "/clone")
	origin.Git("clone", "-q", origin.Dir, r.Dir)
	before := filesBelow(t, r.Dir)
	script := `case " $* " in *" reset "*) echo "fatal: no room" >&2; exit 1;; esac; exec "$git" "$@"`
	failed(newTrees(gitThat(t, script)).Add(t.Context(), r.Dir, "feature", path))(t, "it was made")
	wantSame(t, "undone", r.Dir, before)
}

func TestMapped(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"+refs/heads/*:refs/remotes/origin/*", "refs/heads/a/b", "refs/remotes/origin/a/b"},
		{"refs/heads/main:refs/remotes/up/trunk", "refs/heads/main", "refs/remotes/up/trunk"},
		{"refs/heads/main:refs/remotes/up/trunk", "refs/heads/mainx", ""},
		{"+refs/heads/team/*-x:refs/remotes/a/b/*", "refs/heads/team/1-x", "refs/remotes/a/b/1"},
		{"+refs/heads/team/*:refs/remotes/a/*", "refs/heads/other", ""},
		{"^refs/heads/*", "refs/heads/main", ""},
		{"refs/heads/main", "refs/heads/main", ""},
	} {
		equal(t, fmt.Sprintf("%s of %s", c[1], c[0]), mapped(c[0], c[1]), c[2])
	}
}

// TestRepositoryMoved: after `git worktree repair` a tree is looked at, merged, removed and brought back as before. Before that, the way is
// named, and nothing is lost.
func TestRepositoryMoved(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.make(worktree.Spec{Branch: "new", Path: path})
	r.at(path).commits("one", "1\n")
	r.at(path).Write("late", "1\n")
	old, moved := r.Dir, r.Dir+"-moved here"
	must(t, os.Rename(old, moved))
	removal := worktree.Removal{Place: worktree.Place{Path: path, Base: "main"}, Dir: old, Branch: "new", Ref: "refs/understudy/removed/7", Force: true}
	failed(newKeeper().Remove(t.Context(), removal))(t, "not repaired", "run `git worktree repair "+path+"` in its new place")
	failed(newTrees(cmdtest.GitTestEnv()).Remove(t.Context(), old, path))(t, "not repaired", "worktree repair")
	failed(newKeeper().Merge(t.Context(), worktree.Merging{Place: removal.Place, Dir: old, Into: "main"}))(t, "merge, not repaired", "run `git worktree repair "+path+"` in its new place")
	failed(Push(t.Context(), Pushing{Path: path, Environ: cmdtest.GitTestEnv()}, func(Pushed) {}))(t, "push, not repaired", "worktree repair")
	r = r.at(moved)
	r.Git("worktree", "repair")
	if l := newKeeper().Look(t.Context(), removal.Place); l.Problem != "" || l.Ahead != 1 {
		t.Errorf("look: %+v", l)
	}
	r.at(path).Remove("late")
	equal(t, "merge", value(newKeeper().Merge(t.Context(), worktree.Merging{Place: removal.Place, Dir: old, Into: "main"}))(t).Where, moved)
	r.at(path).Write("late", "2\n")
	holds(t, "a pipeline's", value(newTrees(cmdtest.GitTestEnv()).Remove(t.Context(), old, path))(t), "(late)")
	must(t, os.Mkdir(old, 0o755)) // another repository stands there now
	r.at(old).Git("init", "-q")
	out, err := newKeeper().Remove(t.Context(), removal)
	if err != nil || out.Kept != "" || !out.Ref || !absent(path) || r.says("for-each-ref", "refs/understudy") == "" {
		t.Errorf("removed: %+v, %v", out, err)
	}
	must(t, os.RemoveAll(old))
	back := worktree.Spec{Dir: old, Branch: "new", Path: path, Kept: removal.Ref}
	failed(newKeeper().Make(t.Context(), back))(t, "brought back", "ln -s NEW "+old)
	must(t, os.Symlink(moved, old)) // as the sentence says
	value(newKeeper().Make(t.Context(), back))(t)
	r.at(path).holds("late", "2\n")
	os.Remove(old)
	r.at(path).Remove("late")
	if out, err := newKeeper().Remove(t.Context(), removal); err != nil || out.Kept != "" || out.Repository != moved {
		t.Errorf("removed again: %+v, %v", out, err)
	}
}
