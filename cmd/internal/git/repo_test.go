package git

import (
	"context"
	"errors"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/worktree"
)

// repo is a git repository of a test.
type repo struct{ cmdtest.Repo }

func newRepo(t testing.TB) repo { return repo{cmdtest.NewRepo(t)} }

// repoAt is a folder, in which there may be a repository.
func repoAt(t testing.TB, dir string) repo { return repo{cmdtest.RepoAt(t, dir)} }

// trees makes and removes trees of which no more than the branch and the path matters.
type trees struct{ k *Keeper }

func newTrees(environ []string) trees { return trees{NewKeeper(environ)} }

func (t trees) Add(ctx context.Context, dir, branch, path string) (workdir string, err error) {
	m, err := t.k.Make(ctx, worktree.Spec{Dir: dir, Branch: branch, Path: path})
	return m.Workdir, err
}

func (t trees) Remove(ctx context.Context, dir, path string) (kept string, err error) {
	out, err := t.k.Remove(ctx, worktree.Removal{Place: worktree.Place{Path: path}, Dir: dir, Ref: "refs/understudy/removed/1"})
	return out.Kept, err
}

func (t trees) Discard(ctx context.Context, dir, path string) error {
	out, err := t.k.Remove(ctx, worktree.Removal{Place: worktree.Place{Path: path}, Dir: dir, Discard: true})
	if err == nil && out.Kept != "" {
		err = errors.New(path + " stays: " + out.Kept)
	}
	return err
}
