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
	// TreePlanned: its row is committed. The lane of the agent for which it is made makes it.
	TreePlanned TreeState = "planned"
	// TreeStanding: it was made. Only a removal that a person has asked for ends this state.
	TreeStanding TreeState = "standing"
	// TreeFailed: it could not be made, or its agent was stopped before. Nobody has worked in it.
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

// Worktree is a git work tree that was made for an agent. It belongs to the agent's line: successors and resumed agents work in it.
type Worktree struct {
	ID         int64             `json:"id"`
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

// TreeTask is something that a person has asked for. It is committed before it is done, so that the next daemon does it.
type TreeTask struct {
	Do         TreeAction `json:"do"`
	Into       string     `json:"into,omitempty"`   // of a merge
	Commit     string     `json:"commit,omitempty"` // of a merge: what is merged
	Force      bool       `json:"force,omitempty"`
	KeepBranch bool       `json:"keep_branch,omitempty"`
	At         time.Time  `json:"at"`
}

// TreeOutcome is what came of a task.
type TreeOutcome struct {
	Do        TreeAction `json:"do"`
	Done      bool       `json:"done"`
	Says      string     `json:"says"` // one sentence, which may hold names that others wrote
	Conflicts []string   `json:"conflicts"`
	At        time.Time  `json:"at"`
}

// Stands reports whether the tree is there, or may be.
func (t *Worktree) Stands() bool { return t.State == TreeStanding }

// place returns what package git must know of the tree.
func (t *Worktree) place() worktree.Place {
	return worktree.Place{Path: t.Path, Base: t.Base, Copied: t.Copied}
}

// end ends a task of the tree.
func (t *Worktree) end(do TreeAction, done bool, says string, now time.Time) *TreeOutcome {
	t.Task, t.Last = nil, &TreeOutcome{Do: do, Done: done, Says: says, Conflicts: []string{}, At: now}
	return t.Last
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
	Host   string
	There  bool // without those that were removed or never made
	Before int64
	Limit  int // 0: 100
}

// NewWorktree asks for a work tree of its own for a new agent.
type NewWorktree struct {
	Branch string // an existing branch or a new one; "": a new one, named after the agent
	Base   string // where a new branch begins; "": at the HEAD of the agent's directory
}

// maxBranch is the longest name of a branch, in bytes.
const maxBranch = 200

// planTree makes the row of the work tree for a new agent, and puts the agent into it.
func (d *Daemon) planTree(ctx context.Context, a *Agent, in NewWorktree) (*Worktree, error) {
	if d.Keeper == nil {
		return nil, Errorf(KindUnprocessable, CodeWorktreeRefused, "This daemon makes no work trees")
	}
	if in.Branch == "" {
		named := a.Name
		if a.Persona != nil && isNameOf(a.Name, *a.Persona) {
			named = *a.Persona // the agent's id tells the branches of its agents apart
		}
		in.Branch = plainName(named, 60) + "-" + strconv.FormatInt(a.ID, 10)
	}
	if len(in.Branch) > maxBranch || !worktree.ValidBranch(in.Branch) {
		return nil, Errorf(KindInvalid, CodeBadBranch, "branch %.80q is not a name that git takes", in.Branch)
	}
	id, err := d.Store.NextID(ctx, WorktreeIDs)
	if err != nil {
		return nil, err
	}
	path := d.Data.AgentWorktree(plainName(in.Branch, 60), id)
	plan, err := d.Keeper.Plan(ctx, worktree.Spec{Dir: a.Cwd, Branch: in.Branch, From: in.Base, Path: path})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, Errorf(KindUnprocessable, CodeWorktreeRefused, "No work tree can be made: %s", words.TrimDot(err.Error()))
	}
	t := &Worktree{
		ID: id, Host: d.Host, Repository: plan.Repository, Path: path, Workdir: plan.Workdir, Branch: in.Branch, NewBranch: plan.NewBranch,
		Base: plan.Base, BaseCommit: plan.BaseCommit, State: TreePlanned, Copied: []worktree.Copied{}, CreatedAt: a.CreatedAt,
	}
	if notes := planNotes(&plan, path); notes != "" {
		t.end(TreeMake, false, notes, a.CreatedAt)
	}
	a.WorktreeID, a.Cwd = &t.ID, t.Workdir
	return t, nil
}

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

// treeReady makes the work tree of an agent that is being launched, if it is not there yet. If it can't be made, it ends the launch. While
// the tree is being removed or brought back, the lane waits.
func (d *Daemon) treeReady(ctx context.Context, a *Agent) (moved bool, again time.Duration, err error) {
	if a.WorktreeID == nil {
		return false, 0, nil
	}
	t, err := d.Store.Worktree(ctx, *a.WorktreeID)
	var cause error
	switch {
	case err != nil:
		return false, 0, fmt.Errorf("agent %d: worktree %d: %w", a.ID, *a.WorktreeID, err)
	case t.Task != nil && t.Task.Do != TreeMerge:
		return false, time.Second, nil
	case t.State == TreeStanding:
		return false, 0, nil
	case t.State != TreePlanned:
		cause = treeGone(&t)
	case d.Keeper == nil:
		cause = errors.New("this daemon makes no work trees")
	default:
		var made worktree.Made
		if made, cause = d.makeTree(ctx, &t); cause == nil {
			return true, 0, d.treeMade(ctx, a, &t, made.Submodules)
		}
		if ctx.Err() != nil {
			return false, 0, cause
		}
	}
	return true, 0, d.launchFailed(ctx, a, cause)
}

// treeGone returns the error that an agent can't work in a tree, because the tree is not there.
func treeGone(t *Worktree) *Error {
	if t.State == TreeRemoved {
		return Errorf(KindConflict, CodeWorktreeRemoved, "The agent's work tree %s was removed: bring it back with `understudy worktree restore %d`", t.Path, t.ID)
	}
	return Errorf(KindConflict, CodeWorktreeRemoved, "The agent's work tree %s was never made: start another agent", t.Path)
}

// makeTree makes a work tree, or takes what an earlier daemon has made of it. The caller commits the row.
func (d *Daemon) makeTree(ctx context.Context, t *Worktree) (made worktree.Made, err error) {
	from := ""
	if t.NewBranch {
		from = t.BaseCommit
	}
	made, err = d.Keeper.Make(ctx, worktree.Spec{Dir: d.sourceOf(t), Branch: t.Branch, From: from, Path: t.Path})
	if err != nil {
		return made, fmt.Errorf("the work tree of branch %s could not be made: %w", t.Branch, err)
	}
	now := d.now()
	t.State, t.MadeAt, t.Copied, t.Workdir = TreeStanding, &now, made.Copied, made.Workdir
	return made, nil
}

func (d *Daemon) treeMade(ctx context.Context, a *Agent, t *Worktree, submodules string) error {
	e := d.treeEvent(event.WorktreeCreated, t, &a.ID, map[string]any{"base": t.Base, "copied": copiedWords(t.Copied), "submodules": submodules})
	if err := d.commit(ctx, &Change{Worktrees: []*Worktree{t}, Events: []*event.Event{e}}); err != nil {
		return fmt.Errorf("agent %d: worktree %d: %w", a.ID, t.ID, err)
	}
	return nil
}

// sourceOf returns the folder of the repository that corresponds to the tree's Workdir.
func (d *Daemon) sourceOf(t *Worktree) string {
	return t.Repository + strings.TrimPrefix(t.Workdir, t.Path)
}

// copiedWords names what was copied into a tree.
func copiedWords(copied []worktree.Copied) string {
	var names []string
	for _, c := range copied[:min(len(copied), 5)] {
		names = append(names, c.Path)
	}
	if len(names) == 0 {
		return ""
	}
	return words.List(names, len(copied))
}

// treeEvent makes an event about a work tree, and about the agent with the given id; nil: about none.
func (d *Daemon) treeEvent(typ event.Type, t *Worktree, agentID *int64, payload map[string]any) *event.Event {
	if payload == nil {
		payload = map[string]any{}
	}
	payload["worktree_id"], payload["path"], payload["branch"] = t.ID, t.Path, t.Branch
	return d.event(typ, agentID, nil, payload)
}

// abandonTree adds to a change that the work tree of an agent which was never started will not be made. It first deletes what stands of
// the tree: nobody has worked there.
func (d *Daemon) abandonTree(ctx context.Context, a *Agent, c *Change, reason string) error {
	if a.WorktreeID == nil {
		return nil
	}
	t, err := d.Store.Worktree(ctx, *a.WorktreeID)
	if err != nil || t.State != TreePlanned {
		return err
	}
	if err := d.Trees.Discard(ctx, d.sourceOf(&t), t.Path); err != nil {
		if ctx.Err() != nil {
			return err
		}
		d.Log.Warn("work tree of an agent that was not started not removed", "agent_id", a.ID, "path", t.Path, "error", err)
	}
	t.State = TreeFailed
	t.end(TreeMake, false, words.Capital(reason)+".", d.now())
	c.Worktrees = append(c.Worktrees, &t)
	c.Events = append(c.Events, d.treeEvent(event.WorktreeFailed, &t, &a.ID, map[string]any{"error": reason}))
	return nil
}
