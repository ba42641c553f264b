package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// planForAgent makes the row of the work tree for a new agent, and puts the agent into it.
func (d *Launcher) planForAgent(ctx context.Context, a *daemon.Agent, in NewWorktree) (*daemon.Worktree, error) {
	branch, err := in.BranchFor(a)
	if err != nil {
		return nil, err
	}
	t, err := d.PlanTree(ctx, worktree.Spec{Dir: a.Cwd, Branch: branch, From: in.Base})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeWorktreeRefused, "No work tree can be made: %s", words.TrimDot(err.Error()))
	}
	a.WorktreeID, a.Cwd = &t.ID, t.Workdir
	return t, nil
}

// PlanTree makes the row of a new work tree. Its lane makes the tree, once the row is committed.
func (d *Launcher) PlanTree(ctx context.Context, s worktree.Spec) (*daemon.Worktree, error) {
	if d.Keeper == nil {
		return nil, ErrNoKeeper
	}
	id, err := d.Store.NextID(ctx, daemon.WorktreeIDs)
	if err != nil {
		return nil, err
	}
	s.Path = d.Data.Worktree(PlainName(s.Branch, 60), id)
	plan, err := d.Keeper.Plan(ctx, s)
	if err != nil {
		return nil, err
	}
	t := &daemon.Worktree{
		ID: id, Host: d.Host, Repository: plan.Repository, Path: s.Path, Workdir: plan.Workdir, Branch: s.Branch, NewBranch: plan.NewBranch,
		Base: plan.Base, BaseCommit: plan.BaseCommit, State: daemon.TreePlanned, Copied: []worktree.Copied{}, CreatedAt: d.Now(),
	}
	if notes := planNotes(&plan, s.Path); notes != "" {
		t.End(daemon.TreeMake, false, notes, t.CreatedAt)
	}
	return t, nil
}

// ErrNoKeeper says that this daemon makes no work trees.
var ErrNoKeeper = errors.New("this daemon makes no work trees")

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
func (d *Launcher) treeReady(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	if a.WorktreeID == nil {
		return false, 0, nil
	}
	t, err := d.Store.Worktree(ctx, *a.WorktreeID)
	if err != nil {
		return false, 0, fmt.Errorf("agent %d: worktree %d: %w", a.ID, *a.WorktreeID, err)
	}
	switch wait, why := Ready(&t); {
	case wait:
		return false, time.Second, nil
	case why != nil:
		return true, 0, d.launchFailed(ctx, a, why)
	}
	return false, 0, nil
}

// TreeEvent makes an event about a work tree, and about its pipeline.
func (d *Launcher) TreeEvent(typ event.Type, t *daemon.Worktree, payload map[string]any) *event.Event {
	if payload == nil {
		payload = map[string]any{}
	}
	payload["worktree_id"], payload["path"], payload["branch"] = t.ID, t.Path, t.Branch
	return d.Event(typ, nil, nil, payload).For(t.PipelineID, nil)
}
