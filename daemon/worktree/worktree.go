// Package worktree compares the claims of a handoff document about files with the agent's working directory, as git and the
// file system show it. It does not run git: it declares the interface Trees, which cmd/internal/git implements.
package worktree

import (
	"context"
	"errors"
	"time"
)

// Query asks what git knows of a working directory.
type Query struct {
	Dir   string
	Since time.Time // only commits after this time count
	// Names are paths as a document names them: relative to Dir or to the top of the work tree, absolute, or only the last
	// element of a path.
	Names []string
}

// Tree is what git knows of a working directory. All paths are absolute, except those in Known.
type Tree struct {
	Top       string   // the top folder of the work tree
	Changed   []Change // files that are not committed, sorted by path
	Committed []string // files that commits after Query.Since have changed, sorted
	Known     []string // the Query.Names for which the work tree has a file, tracked or not
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
	// Add makes a work tree at path, for the repository that contains dir. It checks out branch. If the repository has no
	// such branch, Add makes the branch at HEAD. It returns the folder in the work tree that corresponds to dir. If an
	// earlier call of Add was cut off and left a work tree at path, Add uses that work tree or makes it anew: no agent has
	// worked in it.
	Add(ctx context.Context, dir, branch, path string) (workdir string, err error)
	// Remove removes the work tree at path. It removes nothing if the work tree has a file that is not committed (ignored
	// files included) or other work that would be lost, or if git can't tell. kept then says why. The branch stays. If the
	// work tree is gone already, that is no error.
	Remove(ctx context.Context, dir, path string) (kept string, err error)
	// Discard removes the work tree that Add has made at path, even an unfinished one, with all files in it. Call it only if
	// no agent has worked there. The branch stays.
	Discard(ctx context.Context, dir, path string) error
}
