package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/understudyd/understudy/daemon/worktree"
)

// place names a work tree. Every command of git is told all three, so that git looks for none of them itself: settings of a repository, such as
// core.worktree, make git take another folder for the work tree than the one in which it runs.
type place struct {
	top    string // its folder
	dir    string // the .git of this work tree
	common string // the .git that all work trees of the repository share
}

// env returns the variables that name the place to git.
func (p place) env() []string {
	return []string{"GIT_WORK_TREE=" + p.top, "GIT_DIR=" + p.dir, "GIT_COMMON_DIR=" + p.common}
}

// named returns g for commands in the work tree p.
func (g git) named(p place) git {
	g.dir, g.env = p.top, append(g.env[:len(g.env):len(g.env)], p.env()...)
	return g
}

// find finds the work tree that holds g's folder. git itself looks for it first, so the errors are those of [git.output]: for example, git
// may not trust the folder's owner. find refuses a work tree that does not hold g's folder. prefix leads from its top to the folder.
func (g git) find(ctx context.Context) (p place, prefix string, err error) {
	at, err := g.paths(ctx, "--show-toplevel", "--show-prefix", "--git-dir", "--git-common-dir")
	if err != nil {
		return p, "", err
	}
	if !owns(at[0], at[2], g.dir) {
		return p, "", fmt.Errorf("the repository of %s says that its work tree is %s: see core.worktree in its configuration", g.dir, at[0])
	}
	return place{at[0], at[2], at[3]}, at[1], nil
}

// owns reports whether a work tree holds a folder, and points to the .git that git found. Otherwise the setting
// core.worktree makes git look at files elsewhere, which the agent's directory does not hold.
func owns(top, gitDir, dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	if rel, err := filepath.Rel(top, dir); err != nil || !filepath.IsLocal(rel) {
		return false
	}
	dotGit := filepath.Join(top, ".git")
	if to, ok := pointer(dotGit, "gitdir: "); ok {
		dotGit = from(top, to)
	}
	return sameFolder(dotGit, gitDir)
}

func sameFolder(one, other string) bool {
	a, errA := os.Stat(one)
	b, errB := os.Stat(other)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// tree returns git for the work tree of the repository at a path whose folders are not links, behind a shield that the caller must close.
// It believes only what that path and the registration in the repository say of each other.
func (r repository) tree(ctx context.Context, path string) (s shield, err error) {
	admin, ours := r.admin(path)
	if !ours || !registered(admin, path) {
		return s, fmt.Errorf("%s is no work tree of the repository %s any more: see `git worktree list` there", path, r.dir)
	}
	g := r.git
	g.limit = checkoutLimit
	return g.behind(ctx, place{path, admin, r.common})
}

// openTree finds the repository of a work tree that was made at a path. git says whether it trusts the owner, but not where the tree is.
func (k *Keeper) openTree(ctx context.Context, path string) (r repository, err error) {
	at := realPath(path)
	g := git{env: append(k.env[:len(k.env):len(k.env)], "GIT_WORK_TREE="+at), dir: at, limit: treeLimit}
	said, err := g.paths(ctx, "--git-dir", "--git-common-dir")
	if errors.Is(err, worktree.ErrNone) {
		err = fmt.Errorf("git has lost the repository of %s: if the repository was moved, run `git worktree repair %[1]s` in its new place, and try again", path)
	}
	if err != nil {
		return r, err
	}
	p := place{top: at, dir: said[0]}
	if p.common, err = filepath.EvalSymlinks(said[1]); err != nil {
		return r, err
	}
	r = repository{git: g.named(p), plain: k.env, gitDir: p.dir, common: p.common}
	if admin, ours := r.admin(at); !ours || !registered(admin, at) || !sameFolder(admin, p.dir) {
		return r, fmt.Errorf("git takes %s for %s, which was not made there: see what is there", path, p.dir)
	}
	return r, nil
}

// openOf finds the repository of the work tree at a path. dir is a folder of the repository as it was when the tree was made. If somebody
// has moved the repository since, the tree's own .git leads to it, once `git worktree repair` has put that right.
func (k *Keeper) openOf(ctx context.Context, dir, path string) (r repository, err error) {
	if r, err = k.open(ctx, dir); err == nil && (absent(path) || r.registers(realPath(path))) {
		return r, nil
	}
	tree, lost := k.openTree(ctx, path)
	if lost != nil {
		return r, err
	}
	p := place{top: tree.mainTop(ctx), dir: tree.common, common: tree.common}
	if p.top == "" {
		p.top = tree.common // a bare repository
	}
	g := git{env: k.env, limit: treeLimit}
	return repository{git: g.named(p), plain: k.env, gitDir: p.dir, common: p.common}, nil
}

// movedError returns the error that a repository is not where it was.
func (k *Keeper) movedError(dir, path string) error {
	if absent(path) {
		return fmt.Errorf("the repository in %s is gone: if it was moved, put a link to its new place there (`ln -s NEW %[1]s`), and try again", dir)
	}
	return fmt.Errorf("%s is in no git work tree any more, so git can't say what %s holds: if the repository was moved, run `git worktree repair %[2]s` in its new place, and try again; else look into that, and delete it by hand", dir, path)
}

// mainTop returns the top folder of the work tree that a repository has from the beginning; "": it has none, or nothing leads there.
func (r repository) mainTop(ctx context.Context) string {
	var hints []string
	if filepath.Base(r.common) == ".git" {
		hints = append(hints, filepath.Dir(r.common))
	}
	for _, file := range []string{"config", "config.worktree"} { // of a submodule
		if to, err := r.setting(ctx, filepath.Join(r.common, file), "path", "core.worktree"); err == nil && to != "" {
			hints = append(hints, from(r.common, to))
		}
	}
	for _, top := range append(hints, r.hint, r.dir) {
		if real, err := filepath.EvalSymlinks(top); err == nil && owns(real, r.common, real) {
			return real
		}
	}
	return ""
}

// suited refuses a repository for whose new work trees git would use settings that are meant for the first one: git would then take another
// folder for the new tree, or none. git says in git-worktree(1) where these settings belong.
func (r repository) suited(ctx context.Context) error {
	file := filepath.Join(r.common, "config")
	if on, err := r.setting(ctx, file, "bool", "extensions.worktreeConfig"); err != nil || on != "true" {
		return err
	}
	for key, kind := range map[string]string{"core.worktree": "path", "core.bare": "bool"} {
		value, err := r.setting(ctx, file, kind, key)
		switch {
		case err != nil:
			return err
		case value == "" || key == "core.bare" && value == "false":
			continue
		}
		return fmt.Errorf("the repository %s has extensions.worktreeConfig, and %s in %s for all its work trees, so git would look for the files of a new tree elsewhere: run `git config --worktree %[2]s %s` and `git config --file %[3]s --unset %[2]s` there",
			r.dir, key, file, value)
	}
	return nil
}

// setting returns a setting of one file; "": the file does not have it.
func (r repository) setting(ctx context.Context, file, kind, key string) (string, error) {
	value, _, err := r.answer(ctx, "config", "--file", file, "--type="+kind, "--get", key)
	return value, err
}

// maxSmall is how many bytes are read of a small file of git's.
const maxSmall = 64 << 10

// small reads a small file of git's own, which an agent may have replaced by a pipe or by anything else.
func small(file string) (string, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return "", errors.Join(err, fmt.Errorf("%s is no file", file))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSmall))
	return string(b), err
}

// asSeen refuses a new tree that git would not take for what was made: agents run git there without naming the tree.
func (r repository) asSeen(ctx context.Context, path string) error {
	g := git{env: r.plain, dir: path, limit: r.limit}
	p, _, err := g.find(ctx)
	if errors.Is(err, worktree.ErrNone) {
		err = fmt.Errorf("git finds no work tree in %s: see the settings core.worktree, core.bare and extensions.worktreeConfig of the repository %s", path, r.dir)
	}
	if err != nil {
		return err
	}
	admin, ours := r.admin(path)
	if common, err := filepath.EvalSymlinks(p.common); err != nil || !ours || p.top != path || common != r.common || !sameFolder(p.dir, admin) {
		return fmt.Errorf("git takes %s for %s of the repository %s: see the settings core.worktree and extensions.worktreeConfig of the repository %s", path, p.top, p.common, r.dir)
	}
	return nil
}
