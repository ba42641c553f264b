package daemon

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// TreeState says whether a work tree is there.
type TreeState string

// The states of a work tree.
const (
	// TreePlanned: its row is committed, and its lane makes it. A pipeline whose tree is gone plans it again.
	TreePlanned TreeState = "planned"
	// TreeStanding: it was made. A removal ends this state, which a person has asked for, or the tree's pipeline when it was done.
	TreeStanding TreeState = "standing"
	// TreeFailed: it could not be made, or nobody waited for it any more.
	TreeFailed TreeState = "failed"
	// TreeRemoved: KeptRef leads to what it held.
	TreeRemoved TreeState = "removed"
)

// TreeAction is what the daemon does with a work tree.
type TreeAction string

// The actions.
const (
	TreeMake    TreeAction = "make"
	TreeMerge   TreeAction = "merge"
	TreeRemove  TreeAction = "remove"
	TreeRestore TreeAction = "restore"
)

// Worktree is a git work tree that was made for an agent or for a pipeline. It belongs to the agent's line, whose successors and resumed
// agents work in it, or to the steps of the pipeline.
type Worktree struct {
	ID         int64             `json:"id"`
	PipelineID *int64            `json:"pipeline_id"` // null: it is that of a line, or its pipeline was deleted
	Host       string            `json:"host"`
	Repository string            `json:"repository"` // the top folder of the work tree from which it was made
	Path       string            `json:"path"`
	Workdir    string            `json:"workdir"` // the folder in it in which its agent begins
	Branch     string            `json:"branch"`
	NewBranch  bool              `json:"new_branch"` // the branch was made with the tree, and is deleted with it
	Base       string            `json:"base"`       // the branch from which it began; "": not known
	BaseCommit string            `json:"base_commit"`
	State      TreeState         `json:"state"`
	Task       *TreeTask         `json:"task"` // what is being done with it; null: nothing
	Last       *TreeOutcome      `json:"last"` // what came of the last task
	Copied     []worktree.Copied `json:"copied"`
	KeptRef    string            `json:"kept_ref"` // the reference to its files, once it was removed
	CreatedAt  time.Time         `json:"created_at"`
	MadeAt     *time.Time        `json:"made_at"`
	RemovedAt  *time.Time        `json:"removed_at"`

	Rev int64 `json:"-"` // advances with each write, and guards it
}

// TreeTask is something that was asked for. It is committed before it is done, so that the next daemon does it.
type TreeTask struct {
	Do         TreeAction `json:"do"`
	Into       string     `json:"into,omitempty"`   // of a merge
	Commit     string     `json:"commit,omitempty"` // of a merge: what is merged
	Force      bool       `json:"force,omitempty"`
	KeepBranch bool       `json:"keep_branch,omitempty"`
	ByPipeline bool       `json:"by_pipeline,omitempty"` // the tree's pipeline asks, because no step is left; else a person
	At         time.Time  `json:"at"`
}

// TreeOutcome is what came of a task.
type TreeOutcome struct {
	Do        TreeAction `json:"do"`
	Done      bool       `json:"done"`
	Says      string     `json:"says"` // one sentence, which may hold names that others wrote
	Conflicts []string   `json:"conflicts"`
	// ByPipeline: see [TreeTask]. The pipeline goes on by the outcome.
	ByPipeline bool      `json:"by_pipeline,omitempty"`
	At         time.Time `json:"at"`
}

// Be puts the tree into another state. Its lane makes a planned one, also once more.
func (t *Worktree) Be(s TreeState) { t.State = s }

// Stands reports whether the tree is there, or may be.
func (t *Worktree) Stands() bool { return t.State == TreeStanding }

// Ready reports whether an agent can work in the tree. wait says that this is decided later, because the tree is being made, removed or
// brought back. why says why nobody can.
func (t *Worktree) Ready() (wait bool, why error) {
	switch {
	case t.State == TreePlanned, t.Task != nil && t.Task.Do != TreeMerge:
		return true, nil
	case t.State == TreeFailed && t.Last != nil && t.Last.Do == TreeMake:
		says := words.TrimDot(t.Last.Says)
		return false, errors.New(strings.ToLower(says[:1]) + says[1:])
	case t.State != TreeStanding:
		return false, treeGone(t)
	}
	return false, nil
}

// treeGone returns the error that nobody can work in a tree, because the tree is not there.
func treeGone(t *Worktree) *Error {
	if t.State == TreeRemoved {
		return Errorf(KindConflict, CodeWorktreeRemoved, "The work tree %s was removed: bring it back with `understudy worktree restore %d`", t.Path, t.ID)
	}
	return Errorf(KindConflict, CodeWorktreeRemoved, "The work tree %s was never made: start another agent", t.Path)
}

// WorktreeReader reads work trees.
type WorktreeReader interface {
	// Worktree returns ErrNotFound for an unknown id.
	Worktree(ctx context.Context, id int64) (Worktree, error)
	// Worktrees lists the newest first.
	Worktrees(ctx context.Context, f WorktreeFilter) ([]Worktree, error)
}

// WorktreeFilter narrows a list of work trees. Fields with zero values do not narrow it.
type WorktreeFilter struct {
	Host       string
	PipelineID int64
	There      bool // without those that were removed or never made
	Before     int64
	Limit      int // 0: 100
}

// NewWorktree asks for a work tree of its own for a new agent.
type NewWorktree struct {
	Branch string // an existing branch or a new one; "": a new one, named after the agent
	Base   string // where a new branch begins; "": at the HEAD of the agent's directory
}

// MaxBranch is the longest name of a branch, in bytes.
const MaxBranch = 200

// BranchFor returns the branch of the work tree for a new agent.
func (in *NewWorktree) BranchFor(a *Agent) (string, error) {
	if in.Branch == "" {
		named := a.Name
		if a.Persona != nil && IsNameOf(a.Name, *a.Persona) {
			named = *a.Persona // the agent's id tells the branches of its agents apart
		}
		return PlainName(named, 60) + "-" + strconv.FormatInt(a.ID, 10), nil
	}
	if len(in.Branch) > MaxBranch || !worktree.ValidBranch(in.Branch) {
		return "", Errorf(KindInvalid, CodeBadBranch, "branch %.80q is not a name that git takes", in.Branch)
	}
	return in.Branch, nil
}

// NotMade says that the work tree of a branch could not be made, without a full stop.
func NotMade(branch string, cause error) string {
	return fmt.Sprintf("The work tree of branch %s could not be made: %s", branch, words.TrimDot(cause.Error()))
}

// Stays refuses a tree that is not there for an agent to work in, or that is about to go.
func (t *Worktree) Stays() error {
	switch {
	case t.Task != nil && t.Task.Do == TreeRemove:
		return Errorf(KindConflict, CodeWorktreeBusy, "The work tree %s is being removed: wait until that is over, then bring it back with `understudy worktree restore %d`", t.Path, t.ID)
	case t.State == TreeRemoved, t.State == TreeFailed:
		return treeGone(t)
	}
	return nil
}

// Has reports whether an agent of the tree's host works in it, or has worked there.
func (t *Worktree) Has(a *Agent) bool {
	return a.WorktreeID != nil && *a.WorktreeID == t.ID || Within(a.Cwd, t.Path)
}

// Place returns what package git must know of the tree.
func (t *Worktree) Place() worktree.Place {
	return worktree.Place{Path: t.Path, Base: t.Base, Copied: t.Copied}
}

// Source returns the folder of the repository that corresponds to Workdir.
func (t *Worktree) Source() string { return t.Repository + strings.TrimPrefix(t.Workdir, t.Path) }

// Ask notes what is to be done with the tree.
func (t *Worktree) Ask(task TreeTask, now time.Time) {
	task.At = now
	t.Task = &task
}

// End ends what was done with the tree. conflicts are the files in which a merge had conflicts.
func (t *Worktree) End(do TreeAction, done bool, says string, now time.Time, conflicts ...string) {
	t.Last = &TreeOutcome{
		Do: do, Done: done, Says: says, Conflicts: append([]string{}, conflicts...), ByPipeline: t.Task != nil && t.Task.ByPipeline, At: now,
	}
	t.Task = nil
}

// Within reports whether a path is a folder or something in it.
func Within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
