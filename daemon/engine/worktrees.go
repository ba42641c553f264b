package engine

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
func (d *Daemon) planForAgent(ctx context.Context, a *daemon.Agent, in daemon.NewWorktree) (*daemon.Worktree, error) {
	branch, err := in.BranchFor(a)
	if err != nil {
		return nil, err
	}
	t, err := d.planTree(ctx, worktree.Spec{Dir: a.Cwd, Branch: branch, From: in.Base})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeWorktreeRefused, "No work tree can be made: %s", words.TrimDot(err.Error()))
	}
	a.WorktreeID, a.Cwd = &t.ID, t.Workdir
	return t, nil
}

// planTree makes the row of a new work tree. Its lane makes the tree, once the row is committed.
func (d *Daemon) planTree(ctx context.Context, s worktree.Spec) (*daemon.Worktree, error) {
	if d.Keeper == nil {
		return nil, errNoKeeper
	}
	id, err := d.Store.NextID(ctx, daemon.WorktreeIDs)
	if err != nil {
		return nil, err
	}
	s.Path = d.Data.Worktree(daemon.PlainName(s.Branch, 60), id)
	plan, err := d.Keeper.Plan(ctx, s)
	if err != nil {
		return nil, err
	}
	t := &daemon.Worktree{
		ID: id, Host: d.Host, Repository: plan.Repository, Path: s.Path, Workdir: plan.Workdir, Branch: s.Branch, NewBranch: plan.NewBranch,
		Base: plan.Base, BaseCommit: plan.BaseCommit, State: daemon.TreePlanned, Copied: []worktree.Copied{}, CreatedAt: d.now(),
	}
	if notes := planNotes(&plan, s.Path); notes != "" {
		t.End(daemon.TreeMake, false, notes, t.CreatedAt)
	}
	return t, nil
}

// PlanAgain has the lane of a work tree make it once more, because it could not be made or is not there.
func PlanAgain(t *daemon.Worktree) { t.State = daemon.TreePlanned }

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
func (d *Daemon) treeReady(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
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
func (d *Daemon) awaits(ctx context.Context, t *daemon.Worktree) (agents []int64, wanted bool, err error) {
	active, err := d.allAgents(ctx, daemon.AgentFilter{Active: true, Host: t.Host})
	if err != nil {
		return nil, false, err
	}
	for i := range active {
		if a := &active[i]; t.Has(a) && a.StopAskedAt == nil {
			agents = append(agents, a.ID)
		}
	}
	open, err := d.pipelineOpen(ctx, t)
	return agents, open || len(agents) > 0 || t.MadeAt != nil, err
}

// makeTree makes a planned tree, or takes what an earlier daemon has made of it. If nobody waits for the tree any more, or it can't be made,
// makeTree deletes what stands of it: nobody has worked there.
func (d *Daemon) makeTree(ctx context.Context, t *daemon.Worktree) (e *event.Event, agents []int64, err error) {
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
		if made, cause = d.Keeper.Make(ctx, worktree.Spec{Dir: t.Source(), Branch: t.Branch, From: from, Path: t.Path}); ctx.Err() != nil {
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
	t.State, t.MadeAt, t.Copied, t.Workdir = daemon.TreeStanding, &now, made.Copied, made.Workdir
	return d.treeEvent(event.WorktreeCreated, t, map[string]any{"base": t.Base, "copied": copiedWords(t.Copied), "submodules": made.Submodules}), agents, nil
}

func (d *Daemon) treeNotMade(ctx context.Context, t *daemon.Worktree, cause error) *event.Event {
	if t.MadeAt == nil && d.Keeper != nil {
		if out, err := d.Keeper.Remove(ctx, worktree.Removal{Place: t.Place(), Dir: t.Source(), Discard: true}); err != nil || out.Kept != "" {
			d.Log.Warn("work tree that nobody has worked in not removed", "worktree_id", t.ID, "path", t.Path, "kept", out.Kept, "error", err)
		}
	}
	t.State = daemon.TreeFailed
	t.End(daemon.TreeMake, false, daemon.NotMade(t.Branch, cause)+".", d.now())
	return d.treeEvent(event.WorktreeFailed, t, map[string]any{"error": words.TrimDot(cause.Error())})
}
