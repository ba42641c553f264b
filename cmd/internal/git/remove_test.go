package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

// TestTreesKeep: whatever would be lost with a tree keeps it, and is told; and nothing is changed.
func TestTreesKeep(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(r repo)
		want string
	}{
		"renamed":   {func(r repo) { r.Git("mv", "a.go", "b.go") }, "it holds 2 files not committed (a.go, b.go)"},
		"untracked": {func(r repo) { r.Write("new/x", ""); r.Write("new/y", "") }, "it holds 2 files not committed (new/x, new/y)"},
		"ignored":   {func(r repo) { r.Write("x.log", "") }, "it holds 1 ignored file or folder (x.log)"},
		"hidden by the configuration": {func(r repo) {
			r.Git("config", "status.showUntrackedFiles", "no")
			r.Git("config", "core.excludesFile", r.Dir+"/.gitignore")
			r.Write("x", "")
			r.Write("x.log", "")
		}, "it holds 1 file not committed (x), and 1 ignored file or folder (x.log)"},
		"many, with names": {func(r repo) {
			for _, name := range []string{"with space", "new\nline\x1b[31m", "ümlaut 日本", "\"quoted\"", "z"} {
				r.Write(name, "")
			}
		}, `it holds 5 files not committed ("\"quoted\"", "new\nline\x1b[31m", with space and 2 more)`},
		"a repository in it": {func(r repo) { r.Write("inner/x", ""); r.Git("init", "-q", "inner") }, "it holds another git repository (inner/)"},
		"skipped":            {func(r repo) { r.Git("update-index", "--skip-worktree", "a.go"); r.Write("a.go", "x\n") }, "it holds 1 file that git is told not to look at (a.go)"},
		"assumed":            {func(r repo) { r.Git("update-index", "--assume-unchanged", "a.go"); r.Write("a.go", "x\n") }, "it holds 1 file that git is told not to look at (a.go)"},
		"locked":             {func(r repo) { r.Git("worktree", "lock", r.Dir) }, "it is locked (see `git worktree list`)"},
		"bisect":             {func(r repo) { r.Git("bisect", "start") }, "it is in the middle of a bisect"},
		"rebase": {func(r repo) {
			side(r)
			r.Git("-c", "sequence.editor=echo break >", "rebase", "-q", "-i", "HEAD~1")
		}, "it is in the middle of a rebase"},
		"merge": {func(r repo) {
			side(r)
			r.Git("merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "side")
		}, "it is in the middle of a merge"},
		"a commit of no branch": {func(r repo) {
			r.Git("checkout", "-q", "--detach")
			for _, text := range []string{"1", "2"} {
				r.commits("a.go", text)
			}
		}, "it holds 2 commits that no other branch and no remote has"},
		"without its index, of files that were committed": {loseIndex, lostTrack},
		"no longer a tree":  {func(r repo) { r.Remove(".git") }, "it is no work tree of the repository TOP (see `git worktree list` there)"},
		"another's place":   {func(r repo) { r.Git("worktree", "move", r.Dir, r.Dir+"-moved"); r.Write("mine", "") }, "it is no work tree of the repository TOP (see `git worktree list` there)"},
		"another folder's":  {func(r repo) { elsewhere(r) }, "it holds 1 file not committed (work)"},
		"a submodule in it": {func(r repo) { submodule(r); r.Write("module/mine", "") }, "it holds 1 file not committed in the submodule module (mine)"},
		"a repository committed as a submodule": {func(r repo) {
			r.at(r.Dir+"/inner").Write("x", "")
			r.Git("init", "-q", "inner")
			r.at(r.Dir + "/inner").Commit(time.Now())
			r.Commit(time.Now())
		}, "it holds another git repository or files in the place of a submodule (inner)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, tree := newTree(t)
			path := tree.Dir
			tt.do(tree)
			before := r.at(path).names()
			kept, err := newTrees(cmdtest.GitTestEnv()).Remove(t.Context(), r.Dir, path)
			if want := strings.ReplaceAll(tt.want, "TOP", r.Dir); kept != want || err != nil {
				t.Errorf("kept: %s, %v\nwant  %s", kept, err, want)
			}
			equal(t, "it holds", r.at(path).names(), before)
		})
	}
}

const lostTrack = "git has lost track of what is in it (its index or its registration is gone)"

// loseIndex deletes the tree's index, as a crash or a careless hand does.
func loseIndex(r repo) {
	must(r.T, os.Remove(r.says("rev-parse", "--path-format=absolute", "--git-path", "index")))
}

// side makes a commit on the tree's branch and one beside it.
func side(r repo) {
	r.Git("branch", "side")
	r.commits("mine", "")
	r.Git("checkout", "-q", "side")
	r.commits("its", "")
	r.Git("checkout", "-q", "new")
}

// elsewhere has git look at the repository's own files when it is asked about the tree.
func elsewhere(r repo) {
	top := filepath.Dir(r.says("rev-parse", "--git-common-dir"))
	r.Git("config", "extensions.worktreeConfig", "true")
	r.Git("config", "--worktree", "core.worktree", top)
	r.Write("work", "")
}

// submodule commits one.
func submodule(r repo) {
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Dir(r.says("rev-parse", "--git-common-dir")), "module")
	r.Commit(time.Now())
}

func TestTreesRemove(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	tip := r.says("rev-parse", "HEAD")
	r.Git("update-index", "--add", "--cacheinfo", "160000,"+tip+",module") // a submodule that is never fetched
	r.Git("commit", "-qm", "module")
	trees := newTrees(cmdtest.GitTestEnv())
	gone := func(when string) {
		t.Helper()
		for range 2 { // a step may run twice
			equal(t, when+": kept", value(trees.Remove(t.Context(), r.Dir, path))(t), "")
		}
		if got := r.at(filepath.Dir(path)).names(); got != "" || strings.Contains(r.says("worktree", "list"), path+" ") {
			t.Errorf("%s: left over %q\n%s", when, got, r.says("worktree", "list"))
		}
	}

	tree := r.add("new", path)
	tree.commits("a.go", "package committed\n")
	work := tree.says("rev-parse", "HEAD")
	gone("committed")
	equal(t, "the branch is at", r.says("rev-parse", "new"), work)

	r.add("new", path).wantTree("new", work, path) // the branch goes on
	r.at(path).Git("checkout", "-q", "--detach", "main")
	gone("detached at a branch's commit")

	r.add("new", path)
	must(t, os.RemoveAll(path))
	gone("deleted by hand")

	r.Git("worktree", "add", "-q", "--no-checkout", path, "new")
	gone("half-made")

	// Killed after the rename, and while it was deleted.
	r.add("new", path)
	r.Git("worktree", "add", "-q", path+"-other", "-b", "other")
	must(t, errors.Join(os.RemoveAll(path+"-other"), os.Rename(path, filepath.Dir(path)+"/.removed-1"), os.Remove(filepath.Dir(path)+"/.removed-1/.git")))
	gone("in the middle")
	holds(t, "the registration of another tree", r.says("worktree", "list"), path+"-other")
}

// TestTreesDiscard: what Add has made goes when nobody has worked in it, however far it had come, and the
// branch stays. What is not the repository's own is left alone.
func TestTreesDiscard(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do    func(r repo)
		stays string
	}{
		"whole":             {func(repo) {}, ""},
		"in the middle":     {func(r repo) { r.Remove("sub/deep/b.go") }, ""},
		"without its index": {loseIndex, ""},
		"nothing but .git": {func(r repo) {
			loseIndex(r)
			for _, name := range []string{"a.go", "sub", ".gitignore"} {
				must(r.T, os.RemoveAll(filepath.Join(r.Dir, name)))
			}
		}, ""},
		"another's place": {func(r repo) { r.Git("worktree", "move", r.Dir, r.Dir+"-moved"); r.Write("mine", "") }, "it is no work tree of the repository TOP (see `git worktree list` there)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, tree := newTree(t)
			path := tree.Dir
			tt.do(tree)
			before, err := r.at(path).names(), newTrees(cmdtest.GitTestEnv()).Discard(t.Context(), r.Dir, path)
			if tt.stays != "" {
				if want := path + " stays: " + strings.ReplaceAll(tt.stays, "TOP", r.Dir); err == nil || err.Error() != want || r.at(path).names() != before {
					t.Errorf("got %v, want %s; it holds %q, and held %q", err, want, r.at(path).names(), before)
				}
				return
			}
			if got := r.at(filepath.Dir(path)).names(); err != nil || got != "" || strings.Contains(r.says("worktree", "list"), path) {
				t.Errorf("discarded: %v, left over %q\n%s", err, got, r.says("worktree", "list"))
			}
			r.Git("rev-parse", "--verify", "new")
			must(t, newTrees(cmdtest.GitTestEnv()).Discard(t.Context(), r.Dir, path))
		})
	}
}

// TestTreesRemoveWithoutRepository: with the repository there is nothing left to tidy up; a tree
// that is still there stays.
func TestTreesRemoveWithoutRepository(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.add("new", path)
	trees := newTrees(cmdtest.GitTestEnv())
	must(t, os.RemoveAll(r.Dir+"/.git"))
	want := r.Dir + " is in no git work tree any more, so git can't say what " + path + " holds: if the repository was moved, run `git worktree repair " + path + "` in its new place, and try again; else look into that, and delete it by hand"
	if kept, err := trees.Remove(t.Context(), r.Dir, path); kept != "" || err == nil || err.Error() != want {
		t.Errorf("kept %q, %v\nwant %s", kept, err, want)
	}
	value(os.Stat(path + "/a.go"))(t)
	must(t, os.RemoveAll(path))
	for _, dir := range []string{r.Dir, r.Dir + "/none"} {
		equal(t, "both gone: kept", value(trees.Remove(t.Context(), dir, path))(t), "")
	}
}
