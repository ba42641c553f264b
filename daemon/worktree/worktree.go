// Package worktree compares what a handoff document claims of files with what git and the file system tell of the directory
// that the agent works in. It does not run git: it declares what cmd/internal/git implements.
package worktree

import (
	"context"
	"errors"
	"time"
)

// Query asks what git knows of a working directory.
type Query struct {
	Dir   string
	Since time.Time // commits after it count
	// Names are paths as a document names them: relative to Dir or to the top of the work tree, absolute, or the last
	// element alone.
	Names []string
}

// Tree is what git knows of a working directory. All paths are absolute, except those in Known.
type Tree struct {
	Top       string   // of the work tree
	Changed   []Change // files that are not committed, sorted by path
	Committed []string // files that commits after Query.Since have changed, sorted
	Known     []string // those of Query.Names that a file of the work tree has, tracked or not
}

// Change is a file that differs from the last commit.
type Change struct {
	Path    string
	Status  string // added, modified, deleted, renamed, untracked
	Added   int    // lines; 0 for binary and untracked files
	Deleted int
}

// ErrNone says that a directory is in no git work tree, or that git is not installed.
var ErrNone = errors.New("no git work tree")

// Trees makes and removes git work trees. Its errors are sentences for people. Implementations are
// safe for concurrent use.
type Trees interface {
	// Add makes a work tree at path of the repository that dir is in. It checks out branch; if the repository has no such
	// branch, Add makes it at HEAD. It returns the folder in the work tree that corresponds to dir. If an earlier attempt
	// has left something at path, Add takes it or makes it anew: no agent has worked in it.
	Add(ctx context.Context, dir, branch, path string) (workdir string, err error)
	// Remove removes the work tree at path. If a file in it is not committed, ignored ones included, or git can't tell, it
	// removes nothing, and kept says why. The branch stays. A work tree that is gone is no error.
	Remove(ctx context.Context, dir, path string) (kept string, err error)
	// Discard removes what Add has made at path, finished or not. The caller knows that no agent has worked in it. The
	// branch stays.
	Discard(ctx context.Context, dir, path string) error
}
