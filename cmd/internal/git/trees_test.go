package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

var treeRepo = fixture{make: func(t testing.TB, root string) {
	r := repoAt(t, root+"/repository")
	r.Write("a.go", "package a\n")
	r.Write("sub/deep/b.go", "package b\n")
	r.Write(".gitignore", "*.log\n")
	r.Git("init", "-q", "-b", "main")
	samples, _ := filepath.Glob(r.Dir + "/.git/hooks/*")
	for _, sample := range samples {
		r.Remove(".git/hooks/" + filepath.Base(sample))
	}
	r.Commit(time.Now())
}}

// newTreeRepo is a repository with a commit, and the path of a work tree to be made, in a folder
// that is not there.
func newTreeRepo(t testing.TB) (r repo, path string) {
	t.Helper()
	root := treeRepo.copied(t)
	return repoAt(t, root+"/repository"), root + "/trees/1"
}

var madeTree = fixture{make: func(t testing.TB, root string) {
	r := repoAt(t, root+"/repository")
	must(t, os.CopyFS(r.Dir, os.DirFS(treeRepo.copied(t)+"/repository")))
	r.add("new", root+"/trees/1")
}}

// newTree is a repository as that of newTreeRepo, and its work tree on the branch new.
func newTree(t testing.TB) (r, tree repo) {
	t.Helper()
	root := madeTree.copied(t)
	return repoAt(t, root+"/repository"), repoAt(t, root+"/trees/1")
}

func realDir(t testing.TB) string {
	t.Helper()
	return value(filepath.EvalSymlinks(t.TempDir()))(t)
}

// at is another work tree, or a folder of one.
func (r repo) at(dir string) repo { return repoAt(r.T, dir) }

// says is what git prints.
func (r repo) says(args ...string) string {
	r.T.Helper()
	cmd := exec.CommandContext(r.T.Context(), "git", args...)
	cmd.Dir, cmd.Env = r.Dir, cmdtest.GitTestEnv()
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.T.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// add makes a work tree, which must succeed.
func (r repo) add(branch, path string) repo {
	r.T.Helper()
	workdir := value(newTrees(cmdtest.GitTestEnv()).Add(r.T.Context(), r.Dir, branch, path))(r.T)
	return r.at(workdir)
}

// wantTree compares the branch, the commit, what is not committed and the folder of a tree.
func (r repo) wantTree(branch, commit, dir string) {
	r.T.Helper()
	got := []string{r.says("status", "--porcelain=v2", "--branch", "--ignored", "--no-ahead-behind"), r.Dir} // one start of git for all
	want := []string{"# branch.oid " + commit + "\n# branch.head " + branch, dir}
	equal(r.T, "the tree", fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
}

func TestTreesAdd(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	first := r.says("rev-parse", "HEAD")
	r.Git("branch", "old")
	r.Git("branch", "also-a-tag", first)
	r.commits("a.go", "package second\n")
	r.Git("tag", "also-a-tag") // elsewhere than the branch
	head := r.says("rev-parse", "HEAD")
	r.Git("config", "branch.autoSetupMerge", "always")
	r.Git("config", "submodule.recurse", "true")

	r.add("new", path).wantTree("new", head, path)
	equal(t, "the folder of trees", value(os.Stat(filepath.Dir(path)))(t).Mode().Perm(), os.FileMode(0o700))
	equal(t, "the branch follows another one", r.says("config", "--get-regexp", "^branch"), "branch.autosetupmerge always")
	r.Write("a.go", "not committed\n") // is no matter of the trees
	r.at(path).Write("a.go", "begun\n")
	r.Git("commit", "-qam", "third")
	equal(t, "a tree that is there was not taken as it is", r.add("new", path).says("diff", "--name-only"), "a.go")

	r.add("old", path+"-old").wantTree("old", first, path+"-old")
	r.add("also-a-tag", path+"-tag").wantTree("also-a-tag", first, path+"-tag")
	linked := r.at(path+"-old").add("from/linked", path+"-linked")
	linked.wantTree("from/linked", first, path+"-linked")

	r.at(r.Dir+"/sub/deep").add("sub", path+"-sub").wantTree("sub", r.says("rev-parse", "HEAD"), path+"-sub/sub/deep")
	r.Write("untracked/below/x.log", "")
	r.at(r.Dir+"/untracked/below").add("untracked", path+"-un").wantTree("untracked", r.says("rev-parse", "HEAD"), path+"-un/untracked/below")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(r.Dir+"/sub", link))
	r.at(link).add("by-link", path+"-link").wantTree("by-link", r.says("rev-parse", "HEAD"), path+"-link/sub")

	r.Git("checkout", "-q", "--detach", first)
	r.add("from-detached", path+"-detached").wantTree("from-detached", first, path+"-detached")
}

// TestTreesOddNames: folders and branches of names that shells, git and its files give a meaning.
func TestTreesOddNames(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"-rf/with space/ümlaut 日本/$(x)`y`;&'\"", "new\nline/a*?[b]\\/gitdir: x/@{-1}/~"} {
		r, path := newTreeRepo(t)
		head := r.says("rev-parse", "HEAD")
		dir := filepath.Join(r.Dir, name)
		must(t, os.MkdirAll(dir, 0o755))
		branch := fmt.Sprintf("ümlaut/$(x)`y`;&'\"%d", i)
		r.at(dir).add(branch, filepath.Join(path, name)).wantTree(branch, head, filepath.Join(path, name, name))
		kept, err := newTrees(cmdtest.GitTestEnv()).Remove(t.Context(), dir, filepath.Join(path, name))
		if _, gone := os.Stat(filepath.Join(path, name)); kept != "" || err != nil || gone == nil {
			t.Errorf("%q is not removed: %q, %v", name, kept, err)
		}
		equal(t, name+": … trees are left", strings.Count(r.says("worktree", "list", "--porcelain"), "worktree "), 1)
	}
}

func TestTreesRefuse(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.Git("branch", "taken")
	r.Git("worktree", "add", "-q", path+"-gone", "-b", "gone")
	must(t, os.RemoveAll(path+"-gone"))
	r.add("taken", path+"-taken")
	r.at(path+"-full").Write("mine", "")
	other, _ := newTreeRepo(t)
	other.add("other", path+"-other")
	r.at(filepath.Dir(path)).Write("file", "")
	r.at(path+"-foreign").Write(".git", "gitdir: "+other.Dir+"/.git/worktrees/none\n")
	r.at(path+"-copy").Write(".git", "gitdir: "+r.Dir+"/.git/worktrees/1-taken\n")
	r.at(path+"-copy").Write("mine", "")
	must(t, os.Symlink(r.Dir, path+"-link"))
	r.Git("checkout", "-q", "-b", "odd")
	r.Write("file", "")
	must(t, os.Symlink(os.TempDir(), r.Dir+"/out"))
	r.Commit(time.Now())
	r.Git("checkout", "-q", "main")
	r.Write("file/x", "")
	r.Write("out/x", "")
	bare, empty, none := r.at(realDir(t)), newRepo(t), r.at(realDir(t))
	bare.Git("init", "-q", "--bare")
	before := r.says("worktree", "list", "--porcelain")
	isThere := " is there and is no work tree of the repository " + r.Dir + ": move it away"

	for name, tt := range map[string]struct {
		in                 repo
		branch, path, want string
	}{
		"checked out at the top": {r, "main", path, "the branch main is checked out in " + r.Dir + ": switch that to another branch, or name another one"},
		"checked out elsewhere":  {r, "taken", path, "the branch taken is checked out in " + path + "-taken: switch that to another branch, or name another one"},
		"checked out, gone":      {r, "gone", path, "the branch gone is checked out in " + path + "-gone, which is gone: run `git worktree prune` in " + r.Dir},
		"beside a branch":        {r, "main/x", path, "there is a branch whose name begins like main/x or is the beginning of it, and git can't keep both: name another one"},
		"another branch":         {r, "new", path + "-taken", "the work tree " + path + "-taken is not on the branch new: run `git switch new` there, or remove it with `git worktree remove`"},
		"not empty":              {r, "new", path + "-full", path + "-full" + isThere},
		"another repository's":   {r, "new", path + "-other", path + "-other" + isThere},
		"another's, empty":       {r, "new", path + "-foreign", path + "-foreign" + isThere},
		"a copy":                 {r, "taken", path + "-copy", path + "-copy" + isThere},
		"too long":               {r, strings.Repeat("x", 300), path, "git worktree failed in " + r.Dir + " (fatal: cannot lock ref 'refs/heads/" + strings.Repeat("x", 300) + "': Unable to create '" + r.Dir + "/.git/refs/heads/" + strings.Repeat("x", 300) + ".lock': File name too long): see what `git worktree` says there"},
		"a repository":           {r, "new", other.Dir, other.Dir + isThere},
		"itself":                 {r, "main", r.Dir, r.Dir + isThere},
		"a file":                 {r, "new", filepath.Dir(path) + "/file", filepath.Dir(path) + "/file" + isThere},
		"a link":                 {r, "new", path + "-link", path + "-link" + isThere},
		"bare":                   {bare, "new", path, bare.Dir + " is a bare git repository: name a folder of a work tree of it, or leave out the branch"},
		"its .git":               {r.at(r.Dir + "/.git"), "new", path, r.Dir + "/.git is in no git work tree: run `git init` there, or leave out the branch"},
		"no repository":          {none, "new", path, none.Dir + " is in no git work tree: run `git init` there, or leave out the branch"},
		"no commits":             {empty, "new", path, "the repository " + empty.Dir + " has no commit for a branch to begin at: make one, or leave out the branch"},
		"no folder":              {r.at(r.Dir + "/none"), "new", path, "the working directory " + r.Dir + "/none is gone: make it again"},
		"an option":              {r, "--force", path, "\"--force\" is no name for a git branch: name one as `git help check-ref-format` says"},
		"HEAD's other name":      {r, "@", path, "\"@\" is no name for a git branch: name one as `git help check-ref-format` says"},
		"the one before":         {r, "@{-1}", path, "\"@{-1}\" is no name for a git branch: name one as `git help check-ref-format` says"},
		"two dots":               {r, "a..b", path, "\"a..b\" is no name for a git branch: name one as `git help check-ref-format` says"},
		"a file for a folder":    {r.at(r.Dir + "/file"), "odd", path + "-odd", "file is no folder in the work tree " + path + "-odd: name another folder of the repository"},
		"a link that leads out":  {r.at(r.Dir + "/out"), "odd", path + "-odd", "out is no folder in the work tree " + path + "-odd: name another folder of the repository"},
	} {
		got, err := newTrees(cmdtest.GitTestEnv()).Add(t.Context(), tt.in.Dir, tt.branch, tt.path)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: %q, %v\nwant %s", name, got, err, tt.want)
		}
	}
	equal(t, "a tree is left", r.says("worktree", "list", "--porcelain"), before)
	equal(t, "what was in the way is now", r.at(path+"-full").names(), "mine")
	failed(newTrees([]string{"PATH=/nowhere"}).Add(t.Context(), r.Dir, "new", path))(t, "without git", "install git")
}

// names are those of the folder, .git too.
func (r repo) names() string {
	r.T.Helper()
	entries := value(os.ReadDir(r.Dir))(r.T)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
