package git

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/worktree"
)

// filesBelow returns what is below a folder, with sizes, modes and the texts of small files.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	must(t, err)
	return found
}

// wantSame compares a folder with what it held. It takes no notice of the files whose names begin like one of except.
func wantSame(t *testing.T, when, dir string, before map[string]string, except ...string) {
	t.Helper()
	after := filesBelow(t, dir)
	for name := range before {
		if _, ok := after[name]; !ok {
			t.Errorf("%s: %s is gone", when, name)
		}
	}
	for name, text := range after {
		if before[name] != text && !slices.ContainsFunc(except, func(e string) bool { return strings.HasPrefix(name, e) }) {
			t.Errorf("%s: %s was written: %.100q", when, name, text)
		}
	}
}

// newSubmodule makes a repository with a submodule whose own files look like those of a .git: git would have a tracked hook run. ran is
// written by that hook.
func newSubmodule(t *testing.T) (outer, sub repo, path, ran string) {
	t.Helper()
	inner, path := newTreeRepo(t)
	ran = filepath.Join(realDir(t), "ran")
	inner.Write("hooks/post-checkout", "#!/bin/sh\ntouch '"+ran+"'\n")
	inner.Write("config/a", "1\n")
	must(t, os.Chmod(inner.Dir+"/hooks/post-checkout", 0o755))
	inner.Commit(time.Now())
	outer = inner.at(realDir(t))
	outer.Git("init", "-q")
	outer.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Dir, "sub")
	outer.Commit(time.Now())
	return outer, inner.at(outer.Dir + "/sub"), path, ran
}

// TestMisplacedSettings: git would look for the files of a new tree in another folder. So nothing is made, and what was there is as it was.
func TestMisplacedSettings(t *testing.T) {
	t.Parallel()
	_, sub, path, _ := newSubmodule(t)
	bare := sub.at(realDir(t))
	bare.Git("clone", "-q", "--bare", sub.Dir, ".")
	bare.Git("worktree", "add", "-q", bare.Dir+"-tree", "-b", "side")
	for name, r := range map[string]repo{"a submodule": sub, "a bare repository": bare.at(bare.Dir + "-tree")} {
		r.Git("config", "extensions.worktreeConfig", "true")
		common := r.says("rev-parse", "--path-format=absolute", "--git-common-dir")
		before := filesBelow(t, common)
		_, planned := r.plan(worktree.Spec{Branch: "new", Path: path})
		_, kept := newKeeper().Make(t.Context(), worktree.Spec{Dir: r.Dir, Branch: "new", Path: path})
		_, added := newTrees(cmdtest.GitTestEnv()).Add(t.Context(), r.Dir, "new", path)
		for _, err := range []error{planned, kept, added} {
			said := "has extensions.worktreeConfig, and core.worktree"
			if r != sub {
				said = "is a bare git repository"
			}
			wantErr(t, name, err, said)
		}
		wantSame(t, name, common, before)
		if !absent(path) {
			t.Errorf("%s: %s was made", name, path)
		}
	}

	// What the sentence says helps.
	sub.Git("config", "--worktree", "core.worktree", "../../../sub")
	sub.Git("config", "--file", sub.says("rev-parse", "--git-common-dir")+"/config", "--unset", "core.worktree")
	sub.add("new", path).wantTree("new", sub.says("rev-parse", "HEAD"), path)
}

// TestTreesOfSubmodules: trees are made of submodules, and of submodules in submodules. Only the new tree and its registration are written.
// They can be merged and removed although a setting turns git elsewhere afterwards.
func TestTreesOfSubmodules(t *testing.T) {
	t.Parallel()
	outer, _, path, ran := newSubmodule(t)
	super := outer.at(realDir(t))
	super.Git("init", "-q")
	super.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", outer.Dir, "mid")
	super.at(super.Dir+"/mid").Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	deep := super.at(super.Dir + "/mid/sub")
	deep.Git("switch", "-q", "-c", "trunk")
	deep.Git("switch", "-q", "-c", "work") // trunk is checked out nowhere
	common := deep.says("rev-parse", "--path-format=absolute", "--git-common-dir")
	before := filesBelow(t, common)
	m := deep.make(worktree.Spec{Branch: "new", Path: path})
	registered := []string{"/worktrees/1/", "/refs/heads/new", "/logs/refs/heads/new"}
	wantSame(t, "made", common, before, registered...)
	tree := deep.at(m.Workdir)
	tree.wantTree("new", deep.says("rev-parse", "HEAD"), path)
	tree.commits("more", "1\n")

	deep.Git("config", "extensions.worktreeConfig", "true") // from now on git takes common for the tree
	before = filesBelow(t, common)
	maps.DeleteFunc(before, func(name, _ string) bool { return strings.HasPrefix(name, "/worktrees/1/") })
	place := worktree.Place{Path: path, Base: "trunk"}
	if l := newKeeper().Look(t.Context(), place); l.Problem != "" || l.Ahead != 1 || l.UncommittedCount != 0 {
		t.Errorf("look: %+v", l)
	}
	tip := deep.says("rev-parse", "new")
	for _, into := range []string{"trunk", "work"} {
		if m := deep.merge(path, into); m.Refused != "" || deep.says("rev-parse", into) != tip {
			t.Errorf("merge into %s: %+v", into, m)
		}
	}
	value(os.Lstat(deep.Dir + "/more"))(t)
	os.Remove(deep.Dir + "/more")
	tree.Write("late", "1\n")
	removal := worktree.Removal{Place: place, Dir: deep.Dir, Branch: "new", Ref: "refs/understudy/removed/7"}
	holds(t, "removed unasked", value(newKeeper().Remove(t.Context(), removal))(t).Kept, "1 file not committed (late)")
	removal.Force = true
	if out, err := newKeeper().Remove(t.Context(), removal); err != nil || out.Kept != "" || !out.Ref || !absent(path) {
		t.Errorf("removed: %+v, %v", out, err)
	}
	if _, err := newKeeper().Make(t.Context(), worktree.Spec{Dir: deep.Dir, Branch: "new", Path: path, Kept: removal.Ref}); err == nil || !absent(path) {
		t.Errorf("restored into a folder that git would not find: %v", err)
	}
	deep.Git("config", "--unset", "extensions.worktreeConfig")
	deep.make(worktree.Spec{Branch: "new", Path: path, Kept: removal.Ref})
	deep.at(path).holds("late", "1\n")
	wantSame(t, "in all", common, before, append(registered, "/objects/", "/refs/", "/logs/", "/index", "/HEAD", "/ORIG_HEAD", "/config", "/gc.log")...)
	if !absent(ran) {
		t.Error("a hook ran")
	}
}

// TestUndone: what git does not take for what was made is unmade: the tree, its registration and its branch.
func TestUndone(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"registered elsewhere": `case " $* " in *" worktree add "*) "$git" "$@" || exit; env -u GIT_DIR -u GIT_WORK_TREE -u GIT_COMMON_DIR "$git" config extensions.worktreeConfig true; env -u GIT_DIR -u GIT_WORK_TREE -u GIT_COMMON_DIR "$git" config core.worktree /; exit;; esac; exec "$git" "$@"`,
		"no checkout":          `case " $* " in *" reset "*) echo "fatal: no room" >&2; exit 1;; esac; exec "$git" "$@"`,
		"no registration":      `case " $* " in *" worktree add "*) "$git" branch new; echo "fatal: no room" >&2; exit 1;; esac; exec "$git" "$@"`,
	} {
		r, path := newTreeRepo(t)
		before := filesBelow(t, r.Dir)
		_, err := newTrees(gitThat(t, script)).Add(t.Context(), r.Dir, "new", path)
		if err == nil || strings.Contains(err.Error(), ";") {
			t.Errorf("%s: %v", name, err)
		}
		wantSame(t, name, r.Dir, before, "/.git/config")
		if !absent(path) {
			t.Errorf("%s: %s is left", name, path)
		}
	}
}

// TestOddRepositories: git finds the files of these where they are not.
func TestOddRepositories(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	other := r.at(realDir(t))
	other.Write("mine", "1\n")
	r.Git("config", "core.worktree", other.Dir)
	failed(newTrees(cmdtest.GitTestEnv()).Add(t.Context(), r.Dir, "new", path))(t, "core.worktree", "says that its work tree is "+other.Dir+": see core.worktree")
	failed(newTrees(cmdtest.GitTestEnv()).Add(t.Context(), other.Dir, "new", path))(t, "core.worktree leads there", "is in no git work tree")
	if got := other.names(); got != "mine" || !absent(path) {
		t.Errorf("there is %s now", got)
	}
	r.Git("config", "--unset", "core.worktree")

	// A setting that comes later does not turn a merge elsewhere.
	r.make(worktree.Spec{Branch: "new", Path: path})
	tree := r.at(path)
	tree.commits("one", "1\n")
	r.Git("config", "core.worktree", other.Dir)
	holds(t, "merged elsewhere", r.merge(path, "main").Refused, "see core.worktree")
	equal(t, "there is … now", other.names(), "mine")

	// A tree that points to another repository is none of ours.
	foreign, there := newTreeRepo(t)
	foreign.Git("branch", "side")
	foreign.add("taken", there)
	tree.Write(".git", "gitdir: "+foreign.Dir+"/.git/worktrees/1\n")
	holds(t, "look", newKeeper().Look(t.Context(), worktree.Place{Path: path}).Problem, "which was not made there")
	failed(newKeeper().Merge(t.Context(), worktree.Merging{Place: worktree.Place{Path: path}, Into: "side"}))(t, "merged")
}

// TestNoHookRuns: neither hooks that the repository tracks nor those that a person's relative core.hooksPath makes of them.
func TestNoHookRuns(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.personal()
	ran := realDir(t)
	hooks := []string{"post-checkout", "reference-transaction", "post-index-change", "post-merge", "pre-push", "pre-commit", "post-commit", "post-rewrite", "prepare-commit-msg", "pre-merge-commit"}
	for _, dir := range []string{".githooks", ".git/hooks"} {
		for _, hook := range hooks {
			must(t, os.MkdirAll(r.Dir+"/"+dir, 0o755))
			writeScript(t, r.Dir+"/"+dir+"/"+hook, "#!/bin/sh\ntouch '"+ran+"/"+hook+"'\n")
		}
	}
	home := realDir(t)
	must(t, os.WriteFile(home+"/.gitconfig", []byte("[core]\n\thooksPath = .githooks\n[user]\n\tname = Ada\n\temail = ada@example.org\n"), 0o600))
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_DIR=/nowhere", "GIT_WORK_TREE=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=.githooks"}
	r.Git("-c", "core.hooksPath=/dev/null", "add", "-A")
	r.Git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "hooks")
	remote := realDir(t)
	r.Git("init", "-q", "--bare", remote)
	r.Git("remote", "add", "origin", remote)
	for _, e := range readDir(t, ran) {
		os.Remove(ran + "/" + e)
	}

	k := NewKeeper(env)
	value(k.Make(t.Context(), worktree.Spec{Dir: r.Dir, Branch: "new", Path: path}))(t)
	r.at(path).Write("one", "1\n")
	r.at(path).Git("-c", "core.hooksPath=/dev/null", "add", "-A")
	r.at(path).Git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "one")
	place := worktree.Place{Path: path, Base: "main"}
	equal(t, "merge", value(k.Merge(t.Context(), worktree.Merging{Place: place, Dir: r.Dir, Into: "main"}))(t).Refused, "")
	said := ""
	value(Push(t.Context(), Pushing{Path: path, Environ: env, Stderr: io.Discard}, func(p Pushed) { said = p.Note }))(t)
	holds(t, "the push", said, "core.hooksPath")
	equal(t, "remove", value(k.Remove(t.Context(), worktree.Removal{Place: place, Dir: r.Dir, Branch: "new", DeleteBranch: true, Ref: "refs/understudy/removed/7"}))(t).Kept, "")
	if got := readDir(t, ran); len(got) > 0 {
		t.Errorf("these hooks ran: %q", got)
	}
	cmd := exec.CommandContext(t.Context(), "git", "commit", "-q", "--allow-empty", "-m", "the trap works") // git alone falls into it
	cmd.Dir, cmd.Env = r.Dir, env[:2]
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := readDir(t, ran); len(got) == 0 {
		t.Error("the hooks would not have been seen")
	}
}

func readDir(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestOddOrigins: from each of these a tree is made, merged and removed, and nothing else is written.
func TestOddOrigins(t *testing.T) {
	t.Parallel()
	origin, path := newTreeRepo(t)
	dir := realDir(t)
	for name, prepare := range map[string]func(r repo) repo{
		"sha256": func(r repo) repo {
			r.Git("init", "-q", "-b", "main", "--object-format=sha256")
			r.commits("a.go", "1\n")
			return r
		},
		"a repository in a repository": func(r repo) repo {
			r.Git("clone", "-q", origin.Dir, ".")
			r.Git("clone", "-q", origin.Dir, "inner")
			return r.at(r.Dir + "/inner")
		},
		"settings in a file for each tree": func(r repo) repo {
			r.Git("clone", "-q", origin.Dir, ".")
			r.Git("sparse-checkout", "set", "sub")
			return r
		},
	} {
		at := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
		must(t, os.Mkdir(at, 0o755))
		r := prepare(origin.at(at))
		r.personal()
		path := path + " of " + name
		r.make(worktree.Spec{Branch: "new", Path: path})
		tree := r.at(path)
		tree.Write("one", "1\n")
		tree.Git("add", "--sparse", "one")
		tree.Git("commit", "-qm", "one")
		r.Git("commit", "-q", "--allow-empty", "-m", "two") // so that it is no fast-forward
		place := worktree.Place{Path: path, Base: "main"}
		if l := newKeeper().Look(t.Context(), place); l.Problem != "" || l.Ahead != 1 || l.Behind != 1 {
			t.Errorf("%s: look: %+v", name, l)
		}
		if m, err := newKeeper().Merge(t.Context(), worktree.Merging{Place: place, Dir: r.Dir, Into: "main"}); err != nil || m.Refused != "" || m.Where != r.Dir {
			t.Errorf("%s: merge: %+v, %v", name, m, err)
		}
		if out, err := newKeeper().Remove(t.Context(), worktree.Removal{Place: place, Dir: r.Dir, Branch: "new", DeleteBranch: true, Ref: "refs/understudy/removed/7"}); err != nil || out.Kept != "" || !out.BranchDeleted || !absent(path) {
			t.Errorf("%s: removed: %+v, %v", name, out, err)
		}
		equal(t, name, r.says("status", "--porcelain", "--ignored"), "")
	}

	unborn := origin.at(dir + "/unborn")
	origin.Git("init", "-q", "-b", "main", unborn.Dir)
	unborn.Git("remote", "add", "-f", "origin", origin.Dir)
	failed(unborn.plan(worktree.Spec{Branch: "new", Path: path + "-u"}))(t, "unborn", "has no commit for a branch to begin at")
	p, err := unborn.plan(worktree.Spec{Branch: "main", Path: path + "-u"})
	if err == nil { // the person's HEAD is on main, which is not there yet
		_, err = newKeeper().Make(t.Context(), worktree.Spec{Dir: unborn.Dir, Branch: "main", From: p.BaseCommit, Path: path + "-u"})
	}
	if got := unborn.says("for-each-ref", "refs/heads"); err == nil || got != "" || !absent(path+"-u") {
		t.Errorf("a branch that HEAD waits for was made: %v, %q", err, got)
	}
}
