// Package worktree is what git and the file system tell of the directory that an agent works in, and holds against that
// what a handoff document claims of files. It runs no git itself: cmd/internal/git answers its queries.
package worktree

import (
	"context"
	"errors"
	"time"
)

// Query asks what git knows of a working directory.
type Query struct {
	Dir   string
	Since time.Time // commits since then count
	// Names are paths as a document names them, relative to Dir or to the work tree's top, absolute, or
	// the last element alone.
	Names []string
}

// Tree is what git knows of a working directory. All paths are absolute.
type Tree struct {
	Top       string   // of the work tree
	Changed   []Change // not committed, sorted by path
	Committed []string // changed by commits since the time asked for, sorted
	Known     []string // of the names asked for, those that a file of the work tree has, tracked or not
}

// Change is a file that differs from the last commit.
type Change struct {
	Path    string
	Status  string // added, modified, deleted, renamed, untracked
	Added   int    // lines; 0 for binary and untracked files
	Deleted int
}

// ErrNone says that a directory is in no git work tree, or that there is no git.
var ErrNone = errors.New("no git work tree")

// Trees makes and removes git work trees. Its errors are sentences for people. Implementations are
// safe for concurrent use.
type Trees interface {
	// Add makes a work tree at path of the repository that dir is in, on a branch: a new one that
	// begins at the repository's HEAD or, if there is one of that name, that. It returns the folder in
	// the work tree that corresponds to dir. What stands at path of an earlier attempt, whole or
	// half-made, is taken or made anew: nobody has worked in it.
	Add(ctx context.Context, dir, branch, path string) (workdir string, err error)
	// Remove removes the work tree at path, but not if anything in it is not committed, ignored files
	// included, or if git can't tell: then kept says why. The branch stays. A tree that is gone is no
	// error.
	Remove(ctx context.Context, dir, path string) (kept string, err error)
	// Discard removes what Add has made at path, whole or half-made, when nobody has worked in it. The
	// branch stays.
	Discard(ctx context.Context, dir, path string) error
}
