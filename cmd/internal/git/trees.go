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
	checkoutLimit = 10 * time.Minute // of a large repository, through filters that fetch
)

// trees is daemon.Trees by the git command.
//
// Nobody watches when a work tree is made, so nothing runs that the repository's own configuration
// names: no hooks (post-checkout neither, wherever it is configured), no file monitor, no filters,
// nothing fetched. What an own filter would have written, as git-crypt or `git lfs install --local`
// configure it, is checked out as it is stored. Filters of the user's or the machine's
// configuration, such as git-lfs after `git lfs install`, go on working. The agents' own git runs
// as the repository says.
//
// A tree is registered first and checked out then, by a git of ours that ends with us, not by a
// child of `git worktree add` that would go on without it. Git writes the tree's index when all
// files are there: a tree without one is half-made.
type trees struct {
	env []string

	mu   sync.Mutex
	busy map[string]chan struct{} // by repository: holds a token while somebody works on its trees
}

// NewTrees returns daemon.Config.Trees, for a git with an environment that comes from environ.
func NewTrees(environ []string) worktree.Trees {
	return &trees{env: gitEnv(environ), busy: map[string]chan struct{}{}}
}

// Add implements daemon.Trees. Path's folder is made, for this user alone, if it is not there.
func (t *trees) Add(ctx context.Context, dir, branch, path string) (workdir string, err error) {
	if _, err := child.LookPath("git", t.env); err != nil {
		return "", errors.New("there is no git, which a work tree needs: install git, or leave out the branch")
	}
	r, err := t.open(ctx, dir)
	if errors.Is(err, worktree.ErrNone) {
		return "", t.noWorktree(ctx, dir)
	}
	if err != nil {
		return "", err
	}
	if err := r.nameable(ctx, branch); err != nil {
		return "", err
	}
	release, err := t.acquire(ctx, r.common)
	if err != nil {
		return "", err
	}
	defer release()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("the folder of work trees can't be made: %w", err)
	}
	at := realPath(path)
	found, err := r.look(at)
	if err != nil {
		return "", err
	}
	if found == wholeTree {
		err = r.onBranch(ctx, branch, at)
	} else {
		err = r.remake(ctx, found, branch, at)
	}
	if err != nil {
		return "", err
	}
	return inTree(path, r.prefix)
}

// repository is where work trees are made. Its git runs at the top of the work tree that it was
// found by.
type repository struct {
	git
	gitDir string // of the work tree that it was found by
	common string // the .git that all its work trees share, by its real name
	prefix string // of the folder that it was found by, from the top on
}

// open finds the repository that a folder is in, or returns daemon.ErrNoWorktree.
func (t *trees) open(ctx context.Context, dir string) (r repository, err error) {
	r.git = git{env: t.env, dir: dir, limit: treeLimit}
	at, err := r.paths(ctx, "--show-toplevel", "--show-prefix", "--git-dir", "--git-common-dir")
	if err != nil {
		return r, err
	}
	r.dir, r.prefix, r.gitDir = at[0], at[1], at[2]
	r.common, err = filepath.EvalSymlinks(at[3])
	return r, err
}

// noWorktree says what is wrong with a folder that is in no work tree.
func (t *trees) noWorktree(ctx context.Context, dir string) error {
	g := git{env: t.env, dir: dir, limit: treeLimit}
	if bare, err := g.line(ctx, "rev-parse", "--is-bare-repository"); err == nil && bare == "true" {
		return fmt.Errorf("%s is a bare git repository: name a folder of a work tree of it, or leave out the branch", dir)
	}
	return fmt.Errorf("%s is in no git work tree: run `git init` there, or leave out the branch", dir)
}

// acquire waits until nobody else works on the trees of a repository: of two that want the same
// branch or path, the second sees what the first has made. Other programs are git's to keep apart.
func (t *trees) acquire(ctx context.Context, common string) (release func(), err error) {
	t.mu.Lock()
	token := t.busy[common]
	if token == nil {
		token = make(chan struct{}, 1)
		t.busy[common] = token
	}
	t.mu.Unlock()
	select {
	case token <- struct{}{}:
		return func() { <-token }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// nameable refuses what is no name of a branch. Git prints what it takes a name for, which is
// another one for "@{-1}".
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

// onBranch refuses a tree that is not on the branch.
func (r repository) onBranch(ctx context.Context, branch, path string) error {
	g := r.git
	g.dir = path
	on, err := g.headBranch(ctx)
	if err == nil && on != branch {
		err = fmt.Errorf("the work tree %s is not on the branch %s: run `git switch %[2]s` there, or remove it with `git worktree remove`", path, branch)
	}
	return err
}

// remake makes a tree where nothing or a half-made one stands. One that git fails to make is taken
// away again, so that it holds no branch; what an end of ctx leaves is for the next attempt.
func (r repository) remake(ctx context.Context, found standing, branch, path string) error {
	if err := r.clear(ctx, found, path); err != nil {
		return err
	}
	if err := r.register(ctx, branch, path); err != nil {
		return err
	}
	err := r.checkout(ctx, branch, path)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if left := r.clear(ctx, halfTree, path); left != nil {
		err = fmt.Errorf("%w; %w", err, left)
	}
	return err
}

// register makes a tree without its files.
func (r repository) register(ctx context.Context, branch, path string) error {
	args := []string{"worktree", "add", "--quiet", "--no-checkout"}
	there, err := r.commit(ctx, "refs/heads/"+branch)
	if err != nil {
		return err
	}
	if there {
		args = append(args, "--", path, branch)
	} else {
		born, err := r.commit(ctx, "HEAD")
		if err != nil {
			return err
		}
		if !born {
			return fmt.Errorf("the repository %s has no commit for a branch to begin at: make one, or leave out the branch", r.dir)
		}
		args = append(args, "--no-track", "-b", branch, "--", path, "HEAD")
	}
	stderr, exit, err := r.run(ctx, io.Discard, args...)
	if err == nil && exit != 0 {
		err = r.notRegistered(branch, stderr, exit)
	}
	return err
}

// notRegistered turns git's complaint about a new tree into an error.
func (r repository) notRegistered(branch, stderr string, exit int) error {
	for _, words := range []string{"is already checked out at '", "is already used by worktree at '"} {
		_, place, ok := strings.Cut(strings.TrimSpace(stderr), words)
		if place = strings.TrimSuffix(place, "'"); !ok {
			continue
		}
		if _, err := os.Stat(place); err != nil {
			return fmt.Errorf("the branch %s is checked out in %s, which is gone: run `git worktree prune` in %s", branch, place, r.dir)
		}
		return fmt.Errorf("the branch %s is checked out in %s: switch that to another branch, or name another one", branch, place)
	}
	if strings.Contains(stderr, "cannot lock ref") && strings.Contains(stderr, "exists; cannot create") {
		return fmt.Errorf("there is a branch whose name begins like %s or is the beginning of it, and git can't keep both: name another one", branch)
	}
	return r.refused("worktree", stderr, exit)
}

// checkout fills a new tree.
func (r repository) checkout(ctx context.Context, branch, path string) error {
	at := r.git
	at.dir, at.limit = path, checkoutLimit
	g, err := at.shielded(ctx)
	if err != nil {
		return err
	}
	defer g.close()
	stderr, exit, err := g.run(ctx, io.Discard, "reset", "--hard", "--quiet", "--no-recurse-submodules")
	if err == nil && exit != 0 {
		err = fmt.Errorf("git could not check out %s into %s (%s): see whether `git worktree add` can in %s",
			branch, path, complaint(stderr, exit), r.dir)
	}
	return err
}

// complaint is the line of git's that says what went wrong.
func complaint(stderr string, exit int) string {
	last := fmt.Sprintf("exit code %d", exit)
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	return last
}

// inTree returns the folder in a tree that has the path prefix there, and makes it if it is
// missing. A link that leads out of the tree is not followed.
func inTree(path, prefix string) (string, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // nothing was written by it
	prefix = filepath.Clean(prefix)
	fi, err := root.Stat(prefix)
	if errors.Is(err, fs.ErrNotExist) {
		if err = root.MkdirAll(prefix, 0o755); err == nil {
			fi, err = root.Stat(prefix)
		}
	}
	if err != nil || !fi.IsDir() {
		return "", fmt.Errorf("%s is no folder in the work tree %s: start the run from another folder of the repository", prefix, path)
	}
	return filepath.Join(path, prefix), nil
}
