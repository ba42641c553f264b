package worktree

import (
	"context"
	"errors"
	"time"
)

// Base is the state in which an agent found its working directory. The differences of the directory count from it.
type Base struct {
	At     time.Time `json:"at"`     // when it was recorded
	Commit string    `json:"commit"` // of HEAD; "": the repository had no commit, or there was no repository
	Branch string    `json:"branch"` // "": HEAD was a commit
	// Before are files that differed from Commit already, by their paths from the top of the work tree: the first
	// MaxBefore of them, of BeforeCount in all. A folder without tracked files is one entry whose path ends in a slash.
	Before      []string `json:"before"`
	BeforeCount int      `json:"before_count"`
	// Problem says in a sentence why nothing is known of the directory; "": the fields above are right.
	Problem string `json:"problem"`
}

// MaxBefore is how many paths Base.Before holds at most.
const MaxBefore = 200

// The limits of a diff.
const (
	MaxFiles     = 500        // files that are listed
	MaxFileLines = 400        // lines of hunks for one file, if the query names no files
	MaxNamed     = 5000       // the same, if it names files
	MaxLines     = 4000       // lines of hunks in all, if the query names no files
	MaxAllNamed  = 20000      // the same, if it names files
	MaxBytes     = 1 << 20    // bytes of hunks in all
	MaxLine      = 1000       // bytes of one line
	MaxFileSize  = 4 << 20    // bytes; a larger file is shown by its size only
	MaxPaths     = 100        // files that a query may name
	MaxUntracked = 64 << 20   // bytes that are read of untracked files in all
	MaxPathBytes = 4 << 10    // bytes of a path in a query
	MaxListed    = 10_000_000 // bytes of paths that are read from git's lists
)

// DiffQuery asks what has changed in a working directory.
type DiffQuery struct {
	Dir   string
	Base  Base
	Files []string // only these files and folders, by their paths from the top of the work tree; none: all
	Stat  bool     // list the files with their counts, without hunks
}

// Diff is what has changed in a work tree since a base: in commits, and in files that are not committed. Ignored files and
// submodules are left out.
type Diff struct {
	Top       string `json:"top"`    // the top folder of the work tree
	Commit    string `json:"commit"` // of HEAD now; "": there is none
	Branch    string `json:"branch"` // now
	Rewritten bool   `json:"rewritten"`
	// Files are sorted by path, at most MaxFiles of FileCount.
	Files     []FileDiff `json:"files"`
	FileCount int        `json:"file_count"`
	Added     int        `json:"added"`   // lines, in Files
	Deleted   int        `json:"deleted"` // lines, in Files
	// Incomplete says in a sentence what is left out because of a limit; "": nothing is.
	Incomplete string `json:"incomplete"`
}

// FileDiff is a changed file.
type FileDiff struct {
	Path    string `json:"path"`     // from the top of the work tree
	OldPath string `json:"old_path"` // of a renamed file
	Status  string `json:"status"`   // added, modified, deleted, renamed, untracked
	Added   int    `json:"added"`    // lines
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary"` // it is shown by its size only
	OldSize *int64 `json:"old_size"`
	Size    *int64 `json:"size"`   // bytes, of binary files; nil: there is no such file, or the size is not known
	Before  bool   `json:"before"` // it differed already when the base was recorded
	Note    string `json:"note"`   // what else is to be said: another repository, a new mode
	Hunks   []Hunk `json:"hunks"`
	Cut     bool   `json:"cut"` // hunks or lines are left out
}

// Hunk is a part of a file that has changed.
type Hunk struct {
	OldStart int    `json:"old_start"` // numbers of lines
	NewStart int    `json:"new_start"`
	Section  string `json:"section"` // the line that git takes for the title of the section
	// Lines begin with a space, + or -, or with a backslash for a remark. A line of more than MaxLine bytes is cut.
	Lines []string `json:"lines"`
}

// ErrBaseGone says that the repository does not have the commit of the base any more.
var ErrBaseGone = errors.New("the commit of the base is gone")

// Differ finds out what changes in working directories. Its errors are ErrNone, ErrBaseGone and sentences for people.
// It runs no program that a repository's configuration names, and writes nothing in the repository. Implementations are
// safe for concurrent use.
type Differ interface {
	// Begin records the base of a directory, at the time now.
	Begin(ctx context.Context, dir string, now time.Time) (Base, error)
	// Diff compares a directory with its base. It takes DiffTime at most.
	Diff(ctx context.Context, q DiffQuery) (Diff, error)
}

// DiffTime is how long a diff may take. The hunks that are not found until then are left out.
const DiffTime = 8 * time.Second
