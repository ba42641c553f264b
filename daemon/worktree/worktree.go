// Package worktree compares the claims of a handoff document about files with the agent's working directory, as git and the
// file system show it. It does not run git: it declares the interface Keeper, which cmd/internal/git implements.
package worktree

import (
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
