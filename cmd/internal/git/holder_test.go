package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/worktree"
)

// tries runs a command of git that may fail, as those do that stop at a conflict.
func (r repo) tries(args ...string) {
	cmd := exec.CommandContext(r.T.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e@localhost"}, args...)...)
	cmd.Dir, cmd.Env = r.Dir, append(cmdtest.GitTestEnv(), "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=sed -i 1s/pick/edit/")
	_ = cmd.Run()
}

// heldBranch is a repository whose branches main and side conflict, and a tree with a commit of its own.
var heldBranch = fixture{make: func(t testing.TB, root string) {
	r := repoAt(t, root+"/repository")
	must(t, os.CopyFS(r.Dir, os.DirFS(treeRepo.copied(t)+"/repository")))
	r.personal()
	r.Git("switch", "-q", "-c", "side")
	for _, text := range []string{"side 1\n", "side 2\n"} {
		r.commits("a.go", text)
	}
	r.Git("switch", "-q", "main")
	for _, text := range []string{"1\n", "2\n"} {
		r.commits("a.go", text)
	}
	r.make(worktree.Spec{Branch: "new", Path: root + "/trees/1", From: "main"})
	tree := repoAt(t, root+"/trees/1")
	tree.commits("new", "1\n")
}}

// TestHeldBranch: a branch that something stopped moves when it goes on is not moved, not deleted and not checked out a second time, in
// whatever work tree that has stopped. What a person began can be finished afterwards.
func TestHeldBranch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop    func(r repo)
		finish  []string // nil: that is not tried
		says    string   // about main
		inTrees string   // the same, of a branch that is merged into
	}{
		"rebase -i":         {func(r repo) { r.tries("rebase", "-i", "HEAD~2") }, []string{"rebase", "--continue"}, "is being rebased in PLACE", ""},
		"rebase --apply":    {func(r repo) { r.tries("rebase", "--apply", "side") }, nil, "is being rebased in PLACE", ""},
		"rebase of others":  {func(r repo) { r.tries("switch", "-q", "-c", "top"); r.tries("rebase", "--update-refs", "-i", "HEAD~2") }, []string{"rebase", "--continue"}, "is being rebased in PLACE", ""},
		"bisect":            {func(r repo) { r.tries("bisect", "start", "HEAD", "HEAD~2") }, []string{"bisect", "reset"}, "is being bisected in PLACE", ""},
		"merge":             {func(r repo) { r.tries("merge", "side") }, []string{"merge", "--abort"}, "is checked out in PLACE", "in the middle of a merge"},
		"cherry-pick":       {func(r repo) { r.tries("cherry-pick", "side") }, nil, "is checked out in PLACE", "in the middle of a cherry-pick"},
		"revert":            {func(r repo) { r.tries("revert", "HEAD~1") }, nil, "is checked out in PLACE", "in the middle of a revert"},
		"cherry-pick, many": {func(r repo) { r.tries("cherry-pick", "side~1", "side"); r.tries("reset", "-q", "--hard") }, nil, "is checked out in PLACE", "in the middle of a cherry-pick"},
		"am": {func(r repo) {
			r.tries("format-patch", "-q", "-1", "side", "-o", r.Dir+"-patches")
			patches, _ := filepath.Glob(r.Dir + "-patches/*")
			r.tries(append([]string{"am"}, patches...)...)
		}, nil, "is checked out in PLACE", "`git am`"},
	} {
		linked := name == "bisect" || name == "merge" || name == "rebase of others"
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := heldBranch.copied(t)
			r, path := repoAt(t, root+"/repository"), root+"/trees/1"
			at := r
			if linked { // main is checked out in a tree of the person's
				r.Git("switch", "-q", "--detach")
				at = r.at(root + "/own tree\nof mine")
				r.Git("worktree", "add", "-q", at.Dir, "main")
			}
			main := r.says("rev-parse", "main")
			c.stop(at)
			before := filesBelow(t, at.Dir)

			want := "the branch main " + strings.ReplaceAll(c.says, "PLACE", at.Dir)
			m := r.merge(path, "main")
			if !strings.Contains(m.Refused, want) || !strings.Contains(m.Refused, c.inTrees) || r.says("rev-parse", "main") != main {
				t.Errorf("merge: %+v\nwant %s … %s", m, want, c.inTrees)
			}
			wantSame(t, "merge", at.Dir, before)
			failed(newTrees(cmdtest.GitTestEnv()).Add(t.Context(), r.Dir, "main", path+"-2"))(t, "add", want)
			if c.finish == nil {
				return
			}
			failed(r.plan(worktree.Spec{Branch: "main", Path: path + "-2"}))(t, "plan", want)
			at.Git(append([]string{"-c", "core.editor=true"}, c.finish...)...)
			at.Git("reset", "-q", "--hard")
			equal(t, "afterwards", r.merge(path, "main").Refused, "")
		})
	}
}

// TestHeldBranchStays: a tree goes, but not its branch, which somebody rebases elsewhere.
func TestHeldBranchStays(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.make(worktree.Spec{Branch: "new", Path: path})
	r.at(path).commits("one", "1\n")
	r.at(path).Git("switch", "-q", "--detach")
	r.Git("switch", "-q", "new")
	r.tries("rebase", "-i", "HEAD~1")
	removal := worktree.Removal{Place: worktree.Place{Path: path}, Dir: r.Dir, Branch: "new", DeleteBranch: true, Ref: "refs/understudy/removed/1"}
	out, err := newKeeper().Remove(t.Context(), removal)
	if err != nil || out.Kept != "" || out.BranchDeleted || r.says("branch", "--list", "new") == "" {
		t.Errorf("%+v, %v", out, err)
	}
	r.Git("-c", "core.editor=true", "rebase", "--continue")
}

// TestHeldByBare: the HEAD of a bare repository holds no branch.
func TestHeldByBare(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	bare := r.at(realDir(t) + "/x.git")
	r.Git("clone", "-q", "--bare", r.Dir, bare.Dir)
	bare.Git("worktree", "add", "-q", bare.Dir+"-side", "-b", "side")
	side := r.at(bare.Dir + "-side")
	side.make(worktree.Spec{Branch: "new", Path: path})
	side.at(path).commits("one", "1\n")
	for _, into := range []string{"main", "side"} {
		if m := side.merge(path, into); m.Refused != "" || side.says("rev-parse", into) != side.says("rev-parse", "new") {
			t.Errorf("%s: %+v", into, m)
		}
	}
	value(os.Stat(side.Dir + "/one"))(t)

	// A repository whose .git is elsewhere says nowhere where its files are; the row of the tree does.
	apart := r.at(realDir(t) + "/files")
	r.Git("clone", "-q", "--separate-git-dir", apart.Dir+".git", r.Dir, apart.Dir)
	apart.make(worktree.Spec{Branch: "new", Path: path + "-2"})
	r.at(path+"-2").Write("one", "1\n")
	r.at(path + "-2").Commit(time.Now())
	m, err := newKeeper().Merge(t.Context(), worktree.Merging{Place: worktree.Place{Path: path + "-2"}, Dir: apart.Dir, Into: "main"})
	if _, there := os.Stat(apart.Dir + "/one"); err != nil || m.Refused != "" || m.Where != apart.Dir || there != nil {
		t.Errorf("%+v, %v, %v", m, err, there)
	}
	if m := r.merge(path+"-2", "main"); !m.Already {
		t.Errorf("without the row: %+v", m)
	}
}

// feed runs a command of git that reads a file.
func (r repo) feed(file string, args ...string) {
	r.T.Helper()
	in := value(os.Open(file))(r.T)
	defer in.Close()
	cmd := exec.CommandContext(r.T.Context(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, cmdtest.GitTestEnv(), in
	if out, err := cmd.CombinedOutput(); err != nil {
		r.T.Fatalf("git %v: %v\n%s", args, err, out)
	}
}
