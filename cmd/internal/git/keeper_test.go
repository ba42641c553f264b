package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/worktree"
)

func newKeeper() *Keeper {
	return NewKeeper(append(cmdtest.GitTestEnv(), "GIT_AUTHOR_NAME=x")) // GIT_ variables are left out
}

// personal writes the name and the address of a person into the repository's settings, as many people do.
func (r repo) personal() {
	r.Git("config", "user.name", "Ada")
	r.Git("config", "user.email", "ada@example.org")
}

func (r repo) plan(s worktree.Spec) (worktree.Plan, error) {
	s.Dir = r.Dir
	return newKeeper().Plan(r.T.Context(), s)
}

func (r repo) make(s worktree.Spec) worktree.Made {
	r.T.Helper()
	s.Dir = r.Dir
	return value(newKeeper().Make(r.T.Context(), s))(r.T)
}

func TestPlan(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	head := r.says("rev-parse", "HEAD")
	r.Git("branch", "old")
	r.Git("branch", "deep/one")
	r.Write("a.go", "changed\n")
	p, err := r.at(r.Dir + "/sub").plan(worktree.Spec{Branch: "new", Path: path})
	want := worktree.Plan{Repository: r.Dir, Workdir: path + "/sub", NewBranch: true, Base: "main", BaseCommit: head, Uncommitted: 1}
	must(t, err)
	equal(t, "a new branch", p, want)
	if p, err = r.plan(worktree.Spec{Branch: "old", Path: path}); err != nil || p.NewBranch || p.Base != "main" || p.BaseCommit != head {
		t.Errorf("an old branch: %+v, %v", p, err)
	}
	equal(t, "from a branch: the base", value(r.plan(worktree.Spec{Branch: "new", From: "old", Path: path}))(t).Base, "old")
	if p, err = r.plan(worktree.Spec{Branch: "new", From: head[:12], Path: path}); err != nil || p.Base != "" || p.BaseCommit != head {
		t.Errorf("from a commit: %+v, %v", p, err)
	}
	for _, c := range []struct {
		branch, from, want string
	}{
		{"main", "", "the branch main is checked out in " + r.Dir},
		{"old", "main", "the branch old exists already"},
		{"new", "nowhere", `no commit "nowhere"`},
		{"new", "--all", `no commit "--all"`},
		{"old/below", "", "there is a branch whose name begins like old/below or is the beginning of it"},
		{"deep", "", "there is a branch whose name begins like deep or is the beginning of it"},
	} {
		failed(r.plan(worktree.Spec{Branch: c.branch, From: c.from, Path: path}))(t, fmt.Sprintf("%s from %q", c.branch, c.from), c.want)
	}
	failed(repoAt(t, realDir(t)).plan(worktree.Spec{Branch: "new", Path: path}))(t, "outside a repository", "is in no git work tree")
}

// TestIncludedFilesAreCopied: those that .worktreeinclude names and that are not tracked, and nothing through a link.
func TestIncludedFilesAreCopied(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	secret := filepath.Join(realDir(t), "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	r.Write(".gitignore", ".env\nnode_modules/\nbuild/\n")
	r.Write(worktree.IncludeFile, "/.env\nnode_modules/\nnotes.txt\na.go\nlink\nbranch.txt\n")
	r.Commit(time.Now())
	r.Git("checkout", "-q", "-b", "other")
	r.commits("branch.txt", "of the branch\n")
	r.Git("checkout", "-q", "main")
	r.Write(".env", "TOKEN=1\n")
	r.Write("branch.txt", "untracked here\n")
	r.Write("node_modules/x/index.js", "x\n")
	r.Write("node_modules/y.js", "y\n")
	r.Write("build/out", "no\n")
	r.Write("notes.txt", "mine\n")
	r.Write("a.go", "changed, and not committed\n")
	must(t, os.Symlink(filepath.Dir(secret), filepath.Join(r.Dir, "link")))
	for range 2 { // the second call stands for one after a kill
		m := r.make(worktree.Spec{Branch: "other", Path: path})
		var names []string
		for _, c := range m.Copied {
			names = append(names, c.Path)
		}
		equal(t, "copied", strings.Join(names, " "), ".env link node_modules/ notes.txt")
		tree := r.at(path)
		for name, want := range map[string]string{".env": "TOKEN=1\n", "node_modules/x/index.js": "x\n", "notes.txt": "mine\n", "a.go": "package a\n", "branch.txt": "of the branch\n"} {
			tree.holds(name, want)
		}
		failed(os.Lstat(filepath.Join(path, "build")))(t, "build was copied, too")
		equal(t, "the link is", value(os.Readlink(filepath.Join(path, "link")))(t), filepath.Dir(secret))
		must(t, os.WriteFile(filepath.Join(path, ".env"), []byte("half"), 0o600))
	}
}

func (r repo) look(path string, copied []worktree.Copied) worktree.Look {
	return newKeeper().Look(r.T.Context(), worktree.Place{Path: path, Base: "main", Copied: copied})
}

func TestLook(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.Write(".env", "1\n")
	r.Write(".gitignore", ".env\n*.log\n")
	r.Write(worktree.IncludeFile, ".env\n")
	r.Commit(time.Now())
	m := r.make(worktree.Spec{Branch: "new", Path: path})
	if l := r.look(path, m.Copied); l.Branch != "new" || l.UncommittedCount != 0 || l.IgnoredCount != 0 || l.Alone != 0 || !l.BaseKnown || l.Bytes == 0 || l.Problem != "" {
		t.Errorf("a new tree: %+v", l)
	}
	tree := r.at(path)
	tree.commits("one", "1\n")
	tree.Write("two", "2\n")
	tree.Write("x.log", "2\n")
	tree.Write(".env", "2\n")
	r.commits("main", "1\n")
	r.Git("branch", "copy", "new")
	l := r.look(path, m.Copied)
	if l.Ahead != 1 || l.Behind != 1 || l.Alone != 0 || strings.Join(l.Uncommitted, " ") != "two" || strings.Join(l.Ignored, " ") != ".env x.log" {
		t.Errorf("after work: %+v", l)
	}
	r.Git("branch", "-D", "copy")
	equal(t, "commits alone", r.look(path, m.Copied).Alone, 1)
	if l := r.look(path+"-none", nil); !l.Gone {
		t.Errorf("no tree: %+v", l)
	}
}

func (r repo) merge(path, into string) worktree.Merged {
	r.T.Helper()
	return value(newKeeper().Merge(r.T.Context(), worktree.Merging{Place: worktree.Place{Path: path}, Into: into}))(r.T)
}

// TestMerge: fast-forwards and merges, into branches that are checked out and that are not. What is refused changes nothing.
func TestMerge(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.personal()
	r.make(worktree.Spec{Branch: "new", Path: path})
	tree := r.at(path)
	tree.commits("one", "1\n")
	tree.Write("more", "1\n")
	holds(t, "with an uncommitted file", r.merge(path, "main").Refused, "1 file not committed (more)")
	tree.Remove("more")
	tip := tree.says("rev-parse", "HEAD")

	r.Write("one", "in the way\n")
	if m := r.merge(path, "main"); !strings.Contains(m.Refused, "are not committed (one)") || r.says("rev-parse", "main") == tip {
		t.Errorf("over an untracked file: %+v", m)
	}
	r.Remove("one")
	r.Write("a.go", "being changed\n") // the merge does not touch it
	if m := r.merge(path, "main"); m.Refused != "" || !m.FastForward || m.Where != r.Dir || r.says("rev-parse", "main") != tip {
		t.Errorf("fast-forward: %+v", m)
	}
	equal(t, "the person's directory has", r.says("status", "--porcelain"), " M a.go")
	if m := r.merge(path, "main"); !m.Already {
		t.Errorf("again: %+v", m)
	}
	r.Git("checkout", "-q", "a.go")

	r.commits("other", "1\n")
	r.Git("checkout", "-q", "--detach")
	tree.commits("two", "2\n")
	m := r.merge(path, "main")
	if m.Refused != "" || m.FastForward || m.Where != "" {
		t.Errorf("a merge into a branch that is not checked out: %+v", m)
	}
	equal(t, "the merge", r.says("log", "-1", "--format=%an %ae %s %p", "main"), "Ada ada@example.org Merge branch 'new' into main "+r.says("log", "-1", "--format=%p", m.Commit))
	r.Git("checkout", "-q", "main")
	r.commits("two", "3\n")
	tree.commits("two", "4\n")
	before := r.says("for-each-ref")
	m = r.merge(path, "main")
	if !strings.Contains(m.Refused, "both sides have changed 1 file (two)") || strings.Join(m.Conflicts, " ") != "two" {
		t.Errorf("conflict: %+v", m)
	}
	if r.says("for-each-ref") != before || r.says("status", "--porcelain") != "" || tree.says("status", "--porcelain") != "" {
		t.Error("a conflict has changed something")
	}
	for into, want := range map[string]string{"nowhere": "there is no branch nowhere", "new": "the tree is on new itself"} {
		holds(t, "into "+into, r.merge(path, into).Refused, want)
	}
}

// TestMergeOfTheCommitThatWasAsked: a branch that has moved since is not merged, and a merge that was cut off after its effect is done.
func TestMergeOfTheCommitThatWasAsked(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.personal()
	r.make(worktree.Spec{Branch: "new", Path: path})
	tree := r.at(path)
	tree.commits("one", "1\n")
	in := worktree.Merging{Place: worktree.Place{Path: path}, Into: "main", Commit: tree.says("rev-parse", "HEAD")}
	tree.commits("two", "2\n")
	before := r.says("rev-parse", "main")
	m, err := newKeeper().Merge(t.Context(), in)
	if err != nil || !strings.Contains(m.Refused, "has moved since the merge was asked for") || r.says("rev-parse", "main") != before {
		t.Errorf("a commit later: %+v, %v", m, err)
	}
	r.Git("merge", "-q", "--ff-only", in.Commit) // as an earlier call, whose process was killed
	merged := r.says("rev-parse", "main")
	m, err = newKeeper().Merge(t.Context(), in)
	if err != nil || !m.Already || m.Refused != "" || r.says("rev-parse", "main") != merged {
		t.Errorf("again: %+v, %v", m, err)
	}
}

func (r repo) putAway(path, branch string, change func(*worktree.Removal)) worktree.Removed {
	r.T.Helper()
	in := worktree.Removal{Place: worktree.Place{Path: path}, Dir: r.Dir, Branch: branch, DeleteBranch: true, Ref: "refs/understudy/removed/1"}
	if change != nil {
		change(&in)
	}
	return value(newKeeper().Remove(r.T.Context(), in))(r.T)
}

// TestRemovedTreeComesBack: nothing is removed that is nowhere else. With force all of it is kept, and comes back as it was.
func TestRemovedTreeComesBack(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.Write(worktree.IncludeFile, "y.log\n")
	r.Write("y.log", "copied\n")
	made := r.make(worktree.Spec{Branch: "new", Path: path})
	tree := r.at(path)
	tree.commits("one", "1\n")
	tip := tree.says("rev-parse", "HEAD")
	equal(t, "with a lone commit", r.putAway(path, "new", func(in *worktree.Removal) { in.Copied = made.Copied }).Kept, "it holds 1 commit that no other branch and no remote has")
	tree.Write("a.go", "changed\n")
	tree.Write("new", "untracked\n")
	tree.Write("x.log", "ignored\n")
	r.Git("branch", "copy", "new")
	equal(t, "with files", r.putAway(path, "new", func(in *worktree.Removal) { in.Copied = made.Copied }).Kept, "it holds 2 files not committed (a.go, new), and 1 ignored file or folder (x.log)")
	r.Git("branch", "-D", "copy")
	force := func(in *worktree.Removal) { in.Force, in.Copied = true, made.Copied }
	if out := r.putAway(path, "new", force); out.Kept != "" || !out.Ref || !out.BranchDeleted || len(out.NotKept) > 0 {
		t.Errorf("with force: %+v", out)
	}
	if out := r.putAway(path, "new", force); out.Kept != "" || !out.Ref || !out.BranchDeleted { // after a kill
		t.Errorf("again: %+v", out)
	}
	if got := r.says("worktree", "list", "--porcelain"); strings.Contains(got, path) || strings.Contains(r.says("branch"), "new") {
		t.Errorf("git still knows the tree: %s", got)
	}
	for range 2 {
		made := r.make(worktree.Spec{Branch: "new", Path: path, Kept: "refs/understudy/removed/1"})
		if l := r.look(path, made.Copied); len(made.Copied) != 1 || strings.Join(l.Ignored, " ") != "x.log" {
			t.Errorf("the copies that came back: %+v, ignored %q", made.Copied, l.Ignored)
		}
		if got := tree.says("status", "--porcelain", "--ignored"); got != " M a.go\n?? new\n!! x.log\n!! y.log" || tree.says("rev-parse", "new") != tip {
			t.Errorf("it came back as %q", got)
		}
	}
	r.Git("worktree", "remove", "--force", path)
	r.Git("branch", "-f", "new", "main")
	failed(newKeeper().Make(t.Context(), worktree.Spec{Dir: r.Dir, Branch: "new", Path: path, Kept: "refs/understudy/removed/1"}))(t, "on a branch that has moved", "has moved since")
}

// TestRemovedCleanTreeLeavesNothing: the branch goes if all of its commits are elsewhere, and stays if it was there before the tree.
func TestRemovedCleanTree(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.make(worktree.Spec{Branch: "new", Path: path})
	if out := r.putAway(path, "new", nil); out.Kept != "" || !out.BranchDeleted {
		t.Errorf("%+v", out)
	}
	r.make(worktree.Spec{Branch: "stays", Path: path})
	tree := r.at(path)
	tree.commits("one", "1\n")
	if out := r.putAway(path, "stays", func(in *worktree.Removal) { in.DeleteBranch = false }); out.Kept != "" || out.BranchDeleted || r.says("rev-parse", "stays") == r.says("rev-parse", "main") {
		t.Errorf("%+v", out)
	}
	r.make(worktree.Spec{Branch: "module", Path: path})
	inner := r.at(path + "/inner")
	must(t, os.Mkdir(inner.Dir, 0o700))
	inner.Git("init", "-q")
	inner.commits("x", "x\n")
	holds(t, "with a repository in it", r.putAway(path, "module", func(in *worktree.Removal) { in.Force = true }).Kept, "it holds another git repository (inner/)")
	for _, dir := range []string{path, r.Dir} {
		must(t, os.RemoveAll(dir))
	}
	if out := r.putAway(path, "module", nil); out.Kept != "" || out.Ref {
		t.Errorf("without a tree and without a repository: %+v", out)
	}
}

// TestKeeperRunsNothingOfTheRepository: whatever the repository's configuration, attributes and hooks name, none of it is run when a tree is
// made, looked at, merged, removed, restored and pushed.
func TestKeeperRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.personal()
	r.Write(".worktreeinclude", "*.log\n")
	r.commits(".gitattributes", "* filter=bad diff=bad merge=bad\n")
	r.Write("x.log", "1\n")
	traces := filepath.Join(realDir(t), "traces")
	program := filepath.Join(realDir(t), "program")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >> "+traces+"\ncat\n"), 0o755))
	settings := map[string]string{"filter.bad.required": "true", "commit.gpgSign": "true", "core.hooksPath": filepath.Dir(program), "remote.origin.url": "ext::" + program, "remote.evil.url": "--upload-pack=" + program}
	for _, key := range []string{"filter.bad.clean", "filter.bad.smudge", "filter.bad.process", "diff.bad.textconv", "diff.external", "merge.bad.driver",
		"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "credential.helper", "core.alternateRefsCommand", "gpg.program", "sequence.editor"} {
		settings[key] = program
	}
	target := r.at(realDir(t))
	target.Git("init", "-q", "--bare")
	settings["remote.files.url"], settings["remote.files.receivepack"] = target.Dir, program
	r.configure(settings)
	for _, hooks := range []string{filepath.Dir(program), filepath.Join(r.Dir, ".git", "hooks"), filepath.Join(target.Dir, "hooks")} {
		for _, hook := range []string{"post-checkout", "post-merge", "pre-merge-commit", "prepare-commit-msg", "reference-transaction", "pre-push", "post-index-change", "pre-receive", "update", "post-receive", "pre-auto-gc"} {
			text, err := os.ReadFile(program)
			if err == nil {
				err = os.WriteFile(filepath.Join(hooks, hook), text, 0o755)
			}
			must(t, err)
		}
	}
	ran := func(what string) {
		t.Helper()
		if b, err := os.ReadFile(traces); err == nil {
			t.Errorf("%s has run %s", what, b)
			_ = os.Remove(traces)
		}
	}
	plain := func(in repo, args ...string) { // git as an agent that is no enemy of its own repository runs it
		in.T.Helper()
		in.Git(append([]string{"-c", "filter.bad.required=false", "-c", "filter.bad.process=", "-c", "filter.bad.clean=", "-c", "filter.bad.smudge=", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "-c", "merge.bad.driver=true"}, args...)...)
	}
	value(r.plan(worktree.Spec{Branch: "new", Path: path}))(t)
	ran("plan")
	made := r.make(worktree.Spec{Branch: "new", Path: path})
	ran("make")
	tree := r.at(path)
	tree.Write("one", "1\n")
	plain(tree, "add", "-A")
	plain(tree, "commit", "-qm", "one")
	_ = os.Remove(traces)
	if l := r.look(path, made.Copied); l.Problem != "" || l.Ahead != 1 {
		t.Errorf("look: %+v", l)
	}
	ran("look")
	r.Write("two", "2\n")
	plain(r, "add", "two")
	plain(r, "commit", "-qm", "two")
	_ = os.Remove(traces)
	if m := r.merge(path, "main"); m.Refused != "" || m.FastForward || m.Where != r.Dir {
		t.Errorf("merge: %+v", m)
	}
	ran("merge")
	push := func(remote string) (Pushed, string, error) {
		var said strings.Builder
		p, err := Push(t.Context(), Pushing{Path: path, Remote: remote, Environ: cmdtest.GitTestEnv(), Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said}, func(Pushed) {})
		return p, said.String(), err
	}
	for _, remote := range []string{"", "evil"} {
		if _, _, err := push(remote); err == nil || !strings.Contains(err.Error(), "for which git would run a program") {
			t.Errorf("push to %q: %v", remote, err)
		}
	}
	if p, said, err := push("files"); err != nil || p.Branch != "new" || !strings.Contains(p.Note, "the hooks of "+target.Dir+" were not run") {
		t.Errorf("push: %+v, %v\n%s", p, err, said)
	}
	ran("push")
	if target.says("rev-parse", "new") != r.says("rev-parse", "new") || r.says("rev-parse", "refs/remotes/files/new") != r.says("rev-parse", "new") {
		t.Error("the remote's branch is not where it was pushed to")
	}
	tree.Write("three", "3\n")
	if out := r.putAway(path, "new", func(in *worktree.Removal) { in.Force = true }); out.Kept != "" || !out.Ref {
		t.Errorf("removal: %+v", out)
	}
	ran("remove")
	r.make(worktree.Spec{Branch: "new", Path: path, Kept: "refs/understudy/removed/1"})
	ran("restore")
	tree.holds("three", "3\n")
}
