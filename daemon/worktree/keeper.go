package worktree

import (
	"context"
	"time"
)

// Spec says which work tree is to be made.
type Spec struct {
	Dir    string // a folder of the repository
	Branch string
	From   string // where a new branch begins: a branch, a tag or a commit; "": at the HEAD of Dir
	Path   string // where the tree will stand
	Kept   string // a ref that Remove has made, whose files are put into the tree; "": those of the branch alone
}

// Plan is what Make will do.
type Plan struct {
	Repository  string // the top folder of the work tree that holds Spec.Dir
	Workdir     string // the folder below Spec.Path that corresponds to Spec.Dir
	NewBranch   bool   // the branch will be made
	Base        string // the branch from which the branch begins, and into which it can be merged; "": not known
	BaseCommit  string // the commit at which the branch begins, or at which it left HEAD
	Uncommitted int    // files of Repository that are not committed, and so will not be in the tree
	Submodules  string // which will be empty in the tree, in words; "": none
	Counting    string // why these were not all counted; "": they were
}

// IncludeFile is the file at the top of a work tree that names, in the form of .gitignore, untracked files that Make copies.
const IncludeFile = ".worktreeinclude"

// Copied is an untracked file or folder that Make has copied into a new tree.
type Copied struct {
	Path   string `json:"path"` // from the top of the tree; of a folder with a slash at its end
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"` // of the names, sizes and dates, which shows whether the copy has changed since
}

// Made is what Make has made.
type Made struct {
	Workdir    string
	Copied     []Copied
	Submodules string // which are empty in a new tree, in words; "": none
}

// Place is a work tree.
type Place struct {
	Path   string
	Base   string // see Plan.Base
	Copied []Copied
}

// Look is the state of a work tree.
type Look struct {
	Gone        bool      `json:"gone"`   // nothing stands there
	Branch      string    `json:"branch"` // that is checked out there now; "": HEAD is a commit
	Commit      string    `json:"commit"` // of HEAD
	CommitAt    time.Time `json:"commit_at"`
	Ahead       int       `json:"ahead"`      // commits that Base does not have
	Behind      int       `json:"behind"`     // commits of Base that are missing here
	BaseKnown   bool      `json:"base_known"` // Base exists, so Ahead and Behind are right
	Alone       int       `json:"alone"`      // commits that no other branch, no tag and no remote has
	Uncommitted []string  `json:"uncommitted"`
	// UncommittedCount counts the files that differ from the last commit or are not in it. Uncommitted has the first MaxListedFiles.
	UncommittedCount int `json:"uncommitted_count"`
	// Ignored are files and folders that git ignores, without those that were copied here and have not changed since.
	Ignored      []string `json:"ignored"`
	IgnoredCount int      `json:"ignored_count"`
	Busy         string   `json:"busy"`       // the end of a sentence about the tree: it is locked, or in the middle of a merge; "": it is not
	Bytes        int64    `json:"bytes"`      // on disk
	AtLeast      bool     `json:"at_least"`   // Bytes counts a part of the files only
	Unreadable   bool     `json:"unreadable"` // Problem says why the other fields are not known
	Problem      string   `json:"problem"`
}

// MaxListedFiles is how many files a Look names.
const MaxListedFiles = 20

// Merging asks for a merge.
type Merging struct {
	Place
	Dir    string // the folder of the repository from which the tree was made
	Commit string // the commit that was the branch's when the merge was asked for; "": whatever it is
	Into   string // a branch
}

// Merged is what Merge has done.
type Merged struct {
	Refused     string   // a sentence that says why nothing has changed; "": it is merged
	Conflicts   []string // files that both sides have changed
	From        string   // the commit that was merged
	Commit      string   // the commit of Into now
	FastForward bool     // Commit is From
	Already     bool     // Into had the commit before
	Where       string   // the work tree in which Into is checked out, and whose files were brought up to date; "": none
}

// Removal asks for a removal.
type Removal struct {
	Place
	Dir          string // a folder of the repository
	Branch       string
	DeleteBranch bool   // with the tree
	Force        bool   // remove work that is nowhere else as well, and keep it under Ref
	Discard      bool   // nobody has worked in the tree: remove also an unfinished one, with all files in it, and keep nothing
	Ref          string // leads to the files of the tree when it has been removed
}

// Removed is what Remove has done.
type Removed struct {
	Kept          string   // the end of a sentence about the tree which says why it was not removed; "": it was
	Holds         bool     // Kept names work that is nowhere else; with Force the tree is removed all the same
	Ref           bool     // Removal.Ref leads to what the tree held
	BranchDeleted bool     // the branch is gone, too
	Repository    string   // where the repository is now, if it is not in Removal.Dir any more; ""
	NotKept       []string // ignored files and folders that were too large to be kept
}

// Keeper makes work trees, looks after them, and removes them. Its errors are ErrNone and sentences for people. Make, Merge and Remove may be
// called again after they were cut off: they find what they have done. Implementations are safe for concurrent use, and run no program that a
// repository's configuration names.
type Keeper interface {
	// Plan says what Make will do, or why it can't.
	Plan(ctx context.Context, s Spec) (Plan, error)
	// Make makes a work tree at Spec.Path, for the repository that contains Spec.Dir, and checks out the branch. If the repository has no such
	// branch, Make makes it. It copies the untracked files that IncludeFile names. If an earlier call was cut off and left a work tree, Make
	// uses that or makes it anew: nobody has worked in it.
	Make(ctx context.Context, s Spec) (Made, error)
	// Look looks at a work tree. What it can't find out is in Problem.
	Look(ctx context.Context, p Place) Look
	// Merge merges the branch of a work tree into another branch. It does so only if the tree has no uncommitted file, and if there is
	// no conflict. If Into is checked out somewhere, Merge changes the files there, unless uncommitted changes would be lost.
	Merge(ctx context.Context, m Merging) (Merged, error)
	// Remove removes a work tree. Without Force it removes nothing if work would be lost. If the tree is gone already, that is no error.
	Remove(ctx context.Context, r Removal) (Removed, error)
}
