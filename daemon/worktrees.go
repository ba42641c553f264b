package daemon

import (
	"context"
	"time"

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
