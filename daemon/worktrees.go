package daemon

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/event"
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

// maxBranch is the longest name of a branch, in bytes.
const maxBranch = 200

// branchFor returns the branch of the work tree for a new agent.
func (in *NewWorktree) branchFor(a *Agent) (string, error) {
	if in.Branch == "" {
		named := a.Name
		if a.Persona != nil && isNameOf(a.Name, *a.Persona) {
			named = *a.Persona // the agent's id tells the branches of its agents apart
		}
		return plainName(named, 60) + "-" + strconv.FormatInt(a.ID, 10), nil
	}
	if len(in.Branch) > maxBranch || !worktree.ValidBranch(in.Branch) {
		return "", Errorf(KindInvalid, CodeBadBranch, "branch %.80q is not a name that git takes", in.Branch)
	}
	return in.Branch, nil
}

// planForAgent makes the row of the work tree for a new agent, and puts the agent into it.
func (d *Daemon) planForAgent(ctx context.Context, a *Agent, in NewWorktree) (*Worktree, error) {
	branch, err := in.branchFor(a)
	if err != nil {
		return nil, err
	}
	t, err := d.planTree(ctx, worktree.Spec{Dir: a.Cwd, Branch: branch, From: in.Base})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, Errorf(KindUnprocessable, CodeWorktreeRefused, "No work tree can be made: %s", words.TrimDot(err.Error()))
	}
	a.WorktreeID, a.Cwd = &t.ID, t.Workdir
	return t, nil
}

// planTree makes the row of a new work tree. Its lane makes the tree, once the row is committed.
func (d *Daemon) planTree(ctx context.Context, s worktree.Spec) (*Worktree, error) {
	if d.Keeper == nil {
		return nil, errNoKeeper
	}
	id, err := d.Store.NextID(ctx, WorktreeIDs)
	if err != nil {
		return nil, err
	}
	s.Path = d.Data.Worktree(plainName(s.Branch, 60), id)
	plan, err := d.Keeper.Plan(ctx, s)
	if err != nil {
		return nil, err
	}
	t := &Worktree{
		ID: id, Host: d.Host, Repository: plan.Repository, Path: s.Path, Workdir: plan.Workdir, Branch: s.Branch, NewBranch: plan.NewBranch,
		Base: plan.Base, BaseCommit: plan.BaseCommit, State: TreePlanned, Copied: []worktree.Copied{}, CreatedAt: d.now(),
	}
	if notes := planNotes(&plan, s.Path); notes != "" {
		t.end(TreeMake, false, notes, t.CreatedAt)
	}
	return t, nil
}

var errNoKeeper = errors.New("this daemon makes no work trees")

// planNotes says what will not be in a work tree.
func planNotes(p *worktree.Plan, path string) string {
	notes := ""
	switch n := p.Uncommitted; {
	case p.Counting != "" && n > 0:
		notes = fmt.Sprintf("At least %s in %s are not committed, and so not in the work tree (they were not all counted: %s).", words.Count(n, "file"), p.Repository, p.Counting)
	case p.Counting != "":
		notes = fmt.Sprintf("What is not committed in %s is not in the work tree (it was not counted: %s).", p.Repository, p.Counting)
	case n > 0:
		notes = fmt.Sprintf("%s in %s %s not committed, and so not in the work tree.", words.Count(n, "file"), p.Repository, plural(n, "is", "are"))
	}
	if p.Submodules != "" {
		notes = words.Join(" ", notes, fmt.Sprintf("Submodules are empty in the work tree (%s): `git -C %s submodule update --init --recursive` fills them.", p.Submodules, path))
	}
	return notes
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// treeReady waits until the work tree of an agent that is being launched is there. If the tree can't be made, it ends the launch.
func (d *Daemon) treeReady(ctx context.Context, a *Agent) (moved bool, again time.Duration, err error) {
	if a.WorktreeID == nil {
		return false, 0, nil
	}
	t, err := d.Store.Worktree(ctx, *a.WorktreeID)
	if err != nil {
		return false, 0, fmt.Errorf("agent %d: worktree %d: %w", a.ID, *a.WorktreeID, err)
	}
	switch wait, why := t.Ready(); {
	case wait:
		return false, time.Second, nil
	case why != nil:
		return true, 0, d.launchFailed(ctx, a, why)
	}
	return false, 0, nil
}

// awaits returns the agents that wait for a planned tree. wanted says whether anybody does, they or its pipeline. A tree that has stood before
// is made again in any case: it may hold work.
func (d *Daemon) awaits(ctx context.Context, t *Worktree) (agents []int64, wanted bool, err error) {
	active, err := d.allAgents(ctx, AgentFilter{Active: true, Host: t.Host})
	if err != nil {
		return nil, false, err
	}
	for i := range active {
		if a := &active[i]; t.has(a) && a.StopAskedAt == nil {
			agents = append(agents, a.ID)
		}
	}
	open, err := d.pipelineOpen(ctx, t)
	return agents, open || len(agents) > 0 || t.MadeAt != nil, err
}

// makeTree makes a planned tree, or takes what an earlier daemon has made of it. If nobody waits for the tree any more, or it can't be made,
// makeTree deletes what stands of it: nobody has worked there.
func (d *Daemon) makeTree(ctx context.Context, t *Worktree) (e *event.Event, agents []int64, err error) {
	agents, wanted, err := d.awaits(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	var made worktree.Made
	cause := errNoKeeper
	if wanted && d.Keeper != nil {
		from := ""
		if t.NewBranch {
			from = t.BaseCommit
		}
		if made, cause = d.Keeper.Make(ctx, worktree.Spec{Dir: t.source(), Branch: t.Branch, From: from, Path: t.Path}); ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if agents, wanted, err = d.awaits(ctx, t); err != nil {
			return nil, nil, err
		}
	}
	if !wanted {
		cause = errors.New("nobody waits for it any more")
	}
	if cause != nil {
		return d.treeNotMade(ctx, t, cause), agents, nil
	}
	now := d.now()
	t.State, t.MadeAt, t.Copied, t.Workdir = TreeStanding, &now, made.Copied, made.Workdir
	return d.treeEvent(event.WorktreeCreated, t, map[string]any{"base": t.Base, "copied": copiedWords(t.Copied), "submodules": made.Submodules}), agents, nil
}

func (d *Daemon) treeNotMade(ctx context.Context, t *Worktree, cause error) *event.Event {
	if t.MadeAt == nil && d.Keeper != nil {
		if out, err := d.Keeper.Remove(ctx, worktree.Removal{Place: t.place(), Dir: t.source(), Discard: true}); err != nil || out.Kept != "" {
			d.Log.Warn("work tree that nobody has worked in not removed", "worktree_id", t.ID, "path", t.Path, "kept", out.Kept, "error", err)
		}
	}
	t.State = TreeFailed
	t.end(TreeMake, false, NotMade(t.Branch, cause)+".", d.now())
	return d.treeEvent(event.WorktreeFailed, t, map[string]any{"error": words.TrimDot(cause.Error())})
}

// NotMade says that the work tree of a branch could not be made, without a full stop.
func NotMade(branch string, cause error) string {
	return fmt.Sprintf("The work tree of branch %s could not be made: %s", branch, words.TrimDot(cause.Error()))
}
