package git

import (
	"cmp"
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

// Trees implements [worktree.Trees] with the git command.
//
// No person watches when a work tree is made, so git runs nothing that the repository's configuration names: no hook
// (not even post-checkout), no file monitor and no filter. It fetches nothing either. If the repository configures a
// filter of its own for some files, as git-crypt and `git lfs install --local` do, git checks out those files as they
// are stored. Filters of the user's or the machine's configuration, such as git-lfs after `git lfs install`, work as
// usual. When agents run git themselves, that git obeys the repository's configuration.
//
// Trees first registers a tree and then checks it out, each with a git process that ends together with this process. A
// single `git worktree add` would start a child that outlives it. Git writes the tree's index after all files, so a tree
// without an index is half-made.
type Trees struct {
	env []string

	mu   sync.Mutex
	busy map[string]chan struct{} // by repository; a channel holds a token while a call works on the repository's trees
}

// NewTrees returns daemon.Config.Trees. git runs with an environment made from environ.
func NewTrees(environ []string) *Trees {
	return &Trees{env: gitEnv(environ), busy: map[string]chan struct{}{}}
}

// Add implements [worktree.Trees]. If the folder that holds path is missing, Add makes it, readable for this user only.
func (t *Trees) Add(ctx context.Context, dir, branch, path string) (workdir string, err error) {
	r, err := t.openFor(ctx, dir, branch)
	if err != nil {
		return "", err
	}
	release, err := t.acquire(ctx, r.common)
	if err != nil {
		return "", err
	}
	defer release()
	return r.add(ctx, worktree.Spec{Branch: branch, Path: path})
}

// openFor finds the repository that holds a folder, and checks the name of a branch.
func (t *Trees) openFor(ctx context.Context, dir, branch string) (repository, error) {
	if _, err := child.LookPath("git", t.env); err != nil {
		return repository{}, errors.New("there is no git, which a work tree needs: install git, or leave out the branch")
	}
	r, err := t.open(ctx, dir)
	if errors.Is(err, worktree.ErrNone) {
		return r, t.noWorktree(ctx, dir)
	}
	if err != nil {
		return r, err
	}
	return r, r.nameable(ctx, branch)
}

// add makes the tree of s, or takes the one that is there.
func (r repository) add(ctx context.Context, s worktree.Spec) (workdir string, err error) {
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return "", fmt.Errorf("the folder of work trees can't be made: %w", err)
	}
	at := realPath(s.Path)
	found, err := r.look(at)
	if err != nil {
		return "", err
	}
	if found == wholeTree {
		err = r.onBranch(ctx, s.Branch, at)
	} else {
		err = r.remake(ctx, found, s, at)
	}
	if err != nil {
		return "", err
	}
	return inTree(s.Path, r.prefix)
}

// repository is a repository that has work trees. open finds it by a folder in one of its work trees. repository.git
// runs at the top of that work tree.
type repository struct {
	git
	gitDir string // the .git of that work tree
	common string // the .git that all its work trees share, with links resolved
	prefix string // the path from the top of that work tree to the folder given to open
}

// open finds the repository that holds a folder. If there is none, it returns [worktree.ErrNone].
func (t *Trees) open(ctx context.Context, dir string) (r repository, err error) {
	r.git = git{env: t.env, dir: dir, limit: treeLimit}
	at, err := r.paths(ctx, "--show-toplevel", "--show-prefix", "--git-dir", "--git-common-dir")
	if err != nil {
		return r, err
	}
	r.dir, r.prefix, r.gitDir = at[0], at[1], at[2]
	r.common, err = filepath.EvalSymlinks(at[3])
	return r, err
}

// noWorktree returns an error that says what is wrong with a folder that is in no work tree.
func (t *Trees) noWorktree(ctx context.Context, dir string) error {
	g := git{env: t.env, dir: dir, limit: treeLimit}
	if bare, err := g.line(ctx, "rev-parse", "--is-bare-repository"); err == nil && bare == "true" {
		return fmt.Errorf("%s is a bare git repository: name a folder of a work tree of it, or leave out the branch", dir)
	}
	return fmt.Errorf("%s is in no git work tree: run `git init` there, or leave out the branch", dir)
}

// acquire waits until no other call works on the trees of a repository. If two calls concern the same branch or path,
// the second therefore sees what the first has made. git itself keeps other programs apart.
func (t *Trees) acquire(ctx context.Context, common string) (release func(), err error) {
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
	g := r.git
	g.dir = path
	on, err := g.headBranch(ctx)
	if err == nil && on != branch {
		err = fmt.Errorf("the work tree %s is not on the branch %s: run `git switch %[2]s` there, or remove it with `git worktree remove`", path, branch)
	}
	return err
}

// remake makes a tree at a path that is empty or holds a half-made tree. If git fails, remake deletes what git made, so
// that the branch is free again. If ctx ends, the next attempt deletes it.
func (r repository) remake(ctx context.Context, found standing, s worktree.Spec, path string) error {
	if err := r.clear(ctx, found, path); err != nil {
		return err
	}
	if err := r.register(ctx, s, path); err != nil {
		return err
	}
	err := r.checkout(ctx, s.Branch, path)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if left := r.clear(ctx, halfTree, path); left != nil {
		err = fmt.Errorf("%w; %w", err, left)
	}
	return err
}

// register makes git register a tree without checking out its files.
func (r repository) register(ctx context.Context, s worktree.Spec, path string) error {
	branch, from := s.Branch, cmp.Or(s.From, "HEAD")
	args := []string{"worktree", "add", "--quiet", "--no-checkout"}
	there, err := r.commit(ctx, "refs/heads/"+branch)
	if err != nil {
		return err
	}
	if there {
		args = append(args, "--", path, branch)
	} else {
		born, err := r.commit(ctx, from)
		if err != nil {
			return err
		}
		if !born {
			return r.noCommit(s.From)
		}
		args = append(args, "--no-track", "-b", branch, "--", path, from)
	}
	stderr, exit, err := r.run(ctx, io.Discard, args...)
	if err == nil && exit != 0 {
		err = r.notRegistered(branch, stderr, exit)
	}
	return err
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
func (r repository) notRegistered(branch, stderr string, exit int) error {
	for _, words := range []string{"is already checked out at '", "is already used by worktree at '"} {
		if _, place, ok := strings.Cut(strings.TrimSpace(stderr), words); ok {
			return r.elsewhere(branch, strings.TrimSuffix(place, "'"))
		}
	}
	if strings.Contains(stderr, "cannot lock ref") && strings.Contains(stderr, "exists; cannot create") {
		return nested(branch)
	}
	return r.refused("worktree", stderr, exit)
}

// elsewhere returns the error that a branch is checked out at a place.
func (r repository) elsewhere(branch, place string) error {
	if _, err := os.Stat(place); err != nil {
		return fmt.Errorf("the branch %s is checked out in %s, which is gone: run `git worktree prune` in %s", branch, place, r.dir)
	}
	return fmt.Errorf("the branch %s is checked out in %s: switch that to another branch, or name another one", branch, place)
}

// checkout puts the files of a branch into a new tree.
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

// complaint returns the last line that git printed or, if git printed none, its exit code.
func complaint(stderr string, exit int) string {
	last := fmt.Sprintf("exit code %d", exit)
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	return last
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
