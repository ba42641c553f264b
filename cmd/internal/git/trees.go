package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/daemon/worktree"
)

const (
	treeLimit     = 30 * time.Second // one run of git for a work tree
	checkoutLimit = 10 * time.Minute // for a large repository whose filters fetch files over the network
)

// Keeper implements [worktree.Keeper] with the git command.
//
// No person watches when a work tree is made, so git runs nothing that the repository's configuration names: no hook
// (not even post-checkout), no file monitor and no filter. It fetches nothing either. If the repository configures a
// filter of its own for some files, as git-crypt and `git lfs install --local` do, git checks out those files as they
// are stored. Filters of the user's or the machine's configuration, such as git-lfs after `git lfs install`, work as
// usual. When agents run git themselves, that git obeys the repository's configuration.
//
// Keeper first registers a tree and then checks it out, each with a git process that ends together with this process. A
// single `git worktree add` would start a child that outlives it. Git writes the tree's index after all files, so a tree
// without an index is half-made.
type Keeper struct {
	env []string

	mu   sync.Mutex
	busy map[string]chan struct{} // by repository; a channel holds a token while a call works on the repository's trees
}

// NewKeeper returns daemon.Config.Keeper. git runs with an environment made from environ.
func NewKeeper(environ []string) *Keeper {
	return &Keeper{env: gitEnv(environ), busy: map[string]chan struct{}{}}
}

// openFor finds the repository that holds a folder, and checks the name of a branch.
func (k *Keeper) openFor(ctx context.Context, dir, branch string) (repository, error) {
	if _, err := child.LookPath("git", k.env); err != nil {
		return repository{}, errors.New("there is no git, which a work tree needs: install git, or leave out the branch")
	}
	r, err := k.open(ctx, dir)
	if errors.Is(err, worktree.ErrNone) {
		return r, k.noWorktree(ctx, dir)
	}
	if err != nil {
		return r, err
	}
	if err := r.nameable(ctx, branch); err != nil {
		return r, err
	}
	return r, r.suited(ctx)
}

// add makes the tree of s, or takes the one that is there. undo unmakes what add has made; nil: the tree was there.
func (r repository) add(ctx context.Context, s worktree.Spec) (workdir string, undo func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return "", nil, fmt.Errorf("the folder of work trees can't be made: %w", err)
	}
	at := realPath(s.Path)
	found, err := r.look(at)
	if err != nil {
		return "", nil, err
	}
	if found == wholeTree {
		err = r.onBranch(ctx, s.Branch, at)
	} else {
		undo, err = r.remake(ctx, found, s, at)
	}
	if err == nil {
		workdir, err = inTree(s.Path, r.prefix)
	}
	return workdir, undo, err
}

// unless calls undo if there was an error. If ctx has ended, it leaves that to the next attempt.
func unless(ctx context.Context, err error, undo func() error) error {
	if err == nil || undo == nil || ctx.Err() != nil {
		return err
	}
	if left := undo(); left != nil {
		err = fmt.Errorf("%w; %w", err, left)
	}
	return err
}

// repository is a repository that has work trees. open finds it by a folder in one of its work trees. repository.git
// runs at the top of that work tree.
type repository struct {
	git             // it names that work tree
	hint   string   // the top of its first work tree, perhaps; "": not known
	plain  []string // the environment of a git that names no work tree
	gitDir string   // the .git of that work tree
	common string   // the .git that all its work trees share, with links resolved
	prefix string   // the path from the top of that work tree to the folder given to open
}

// open finds the repository that holds a folder. If there is none, it returns [worktree.ErrNone].
func (k *Keeper) open(ctx context.Context, dir string) (r repository, err error) {
	g := git{env: k.env, dir: dir, limit: treeLimit}
	p, prefix, err := g.find(ctx)
	if err != nil {
		return r, err
	}
	p.common, err = filepath.EvalSymlinks(p.common)
	return repository{git: g.named(p), plain: k.env, gitDir: p.dir, common: p.common, prefix: prefix}, err
}

// at names the work tree by which the repository was opened.
func (r repository) at() place { return place{r.dir, r.gitDir, r.common} }

// noWorktree returns an error that says what is wrong with a folder that is in no work tree.
func (k *Keeper) noWorktree(ctx context.Context, dir string) error {
	g := git{env: k.env, dir: dir, limit: treeLimit}
	if bare, err := g.line(ctx, "rev-parse", "--is-bare-repository"); err == nil && bare == "true" {
		return fmt.Errorf("%s is a bare git repository: name a folder of a work tree of it, or leave out the branch", dir)
	}
	return fmt.Errorf("%s is in no git work tree: run `git init` there, or leave out the branch", dir)
}

// acquire waits until no other call works on the trees of a repository. If two calls concern the same branch or path,
// the second therefore sees what the first has made. git itself keeps other programs apart.
func (k *Keeper) acquire(ctx context.Context, common string) (release func(), err error) {
	k.mu.Lock()
	token := k.busy[common]
	if token == nil {
		token = make(chan struct{}, 1)
		k.busy[common] = token
	}
	k.mu.Unlock()
	select {
	case token <- struct{}{}:
		return func() { <-token }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// nameable refuses a text that is no name of a branch. It compares the text with the branch name that git understands:
// "@{-1}", for example, means another branch.
func (r repository) nameable(ctx context.Context, branch string) error {
	refused := fmt.Errorf("%.80q is no name for a git branch: name one as `git help check-ref-format` says", branch)
	if branch == "@" || strings.HasPrefix(branch, "-") || strings.ContainsRune(branch, 0) {
		return refused
	}
	out := proc.Limited{Max: gitOutput}
	_, exit, err := r.run(ctx, &out, "check-ref-format", "--branch", branch)
	if err != nil {
		return err
	}
	if exit != 0 || string(out.Bytes()) != branch+"\n" {
		return refused
	}
	return nil
}

// onBranch refuses a tree in which another branch is checked out.
func (r repository) onBranch(ctx context.Context, branch, path string) error {
	g, err := r.tree(ctx, path)
	if err != nil {
		return err
	}
	defer g.close()
	on, err := g.headBranch(ctx)
	if err == nil && on != branch {
		err = fmt.Errorf("the work tree %s is not on the branch %s: run `git switch %[2]s` there, or remove it with `git worktree remove`", path, branch)
	}
	return err
}

// remake makes a tree at a path that is empty or holds a half-made tree. undo unmakes the tree, and the branch if remake has made it. If
// ctx ends, the next attempt deletes the tree.
func (r repository) remake(ctx context.Context, found standing, s worktree.Spec, path string) (undo func() error, err error) {
	if err := r.clear(ctx, found, path); err != nil {
		return nil, err
	}
	there, err := r.commitOf(ctx, "refs/heads/"+s.Branch)
	if err != nil {
		return nil, err
	}
	b := beginning{branch: s.Branch}
	if err = r.free(ctx, s.Branch); err == nil && there == "" { // a HEAD may wait for a branch that is not there
		b, err = r.beginning(ctx, s.Branch, s.From)
	}
	if err != nil {
		return nil, err
	}
	undo = func() error {
		err := r.clear(ctx, halfTree, path)
		if err == nil && there == "" {
			err = r.unmake(ctx, b)
		}
		return err
	}
	if err := r.register(ctx, b, there != "", path); err != nil {
		return undo, err
	}
	if err := r.asSeen(ctx, path); err != nil {
		return undo, err
	}
	return undo, r.checkout(ctx, s.Branch, path)
}

// register makes git register a tree without checking out its files.
func (r repository) register(ctx context.Context, b beginning, there bool, path string) error {
	args := []string{"worktree", "add", "--quiet", "--no-checkout"}
	switch {
	case there:
		args = append(args, "--", path, b.branch)
	case b.upstream != "":
		args = append(args, "--track", "-b", b.branch, "--", path, b.upstream)
	default:
		args = append(args, "--no-track", "-b", b.branch, "--", path, b.commit)
	}
	stderr, exit, err := r.run(ctx, io.Discard, args...)
	if err == nil && exit != 0 {
		err = r.notRegistered(ctx, b.branch, stderr, exit)
	}
	return err
}

// unmake deletes a branch that was made for a tree, unless somebody has moved it or holds it.
func (r repository) unmake(ctx context.Context, b beginning) error {
	if tip, err := r.commitOf(ctx, "refs/heads/"+b.branch); tip == "" || err != nil {
		return err
	}
	gone, err := r.deleteBranch(ctx, b.branch, b.commit)
	if gone && b.upstream != "" {
		_, _, err = r.run(ctx, io.Discard, "config", "--local", "--remove-section", "branch."+b.branch) // there is none if git was cut off
	}
	return err
}

// deleteBranch deletes a branch, unless somebody has moved it from a commit, or a work tree holds it. gone reports whether there is no such branch any more.
func (r repository) deleteBranch(ctx context.Context, branch, commit string) (gone bool, err error) {
	name := "refs/heads/" + branch
	if tip, err := r.commitOf(ctx, name); tip != commit || tip == "" || err != nil {
		return tip == "" && err == nil, err
	}
	if held, err := r.holder(ctx, branch); held != nil || err != nil {
		return false, err
	}
	_, err = r.output(ctx, "update-ref", "-d", name, commit)
	return err == nil, err
}

// nested returns the error that a branch with a longer or a shorter name stands in the way.
func nested(branch string) error {
	return fmt.Errorf("there is a branch whose name begins like %s or is the beginning of it, and git can't keep both: name another one", branch)
}

// noCommit returns the error that a new branch can't begin at a commit.
func (r repository) noCommit(from string) error {
	if from != "" {
		return fmt.Errorf("the repository %s has no commit %.80q: name a branch, a tag or a commit of it", r.dir, from)
	}
	return fmt.Errorf("the repository %s has no commit for a branch to begin at: make one, or leave out the branch", r.dir)
}

// notRegistered makes an error from what git printed about a new tree.
func (r repository) notRegistered(ctx context.Context, branch, stderr string, exit int) error {
	if err := r.free(ctx, branch); err != nil {
		return err
	}
	if strings.Contains(stderr, "cannot lock ref") && strings.Contains(stderr, "exists; cannot create") {
		return nested(branch)
	}
	return r.refused("worktree", stderr, exit)
}

// checkout puts the files of a branch into a new tree.
func (r repository) checkout(ctx context.Context, branch, path string) error {
	g, err := r.tree(ctx, path)
	if err != nil {
		return err
	}
	defer g.close()
	stderr, exit, err := g.run(ctx, io.Discard, "reset", "--hard", "--quiet", "--no-recurse-submodules")
	if err == nil && exit != 0 {
		err = fmt.Errorf("git could not check out %s into %s (%s): %s",
			branch, path, complaint(stderr, exit), r.instead(ctx, "see whether `git worktree add` can in "+r.dir, "refs/heads/"+branch))
	}
	return err
}

// inTree returns the path of the folder prefix in the tree at path, and makes that folder if it is missing. It refuses a
// link that leads out of the tree.
func inTree(path, prefix string) (string, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // nothing was written through root
	prefix = filepath.Clean(prefix)
	fi, err := root.Stat(prefix)
	if errors.Is(err, fs.ErrNotExist) {
		if err = root.MkdirAll(prefix, 0o755); err == nil {
			fi, err = root.Stat(prefix)
		}
	}
	if err != nil || !fi.IsDir() {
		return "", fmt.Errorf("%s is no folder in the work tree %s: name another folder of the repository", prefix, path)
	}
	return filepath.Join(path, prefix), nil
}
