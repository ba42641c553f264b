package worktrees

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// TreeMerging asks for a merge of a work tree's branch.
type TreeMerging struct {
	Into string `json:"into,omitempty"` // a branch; "": the one from which the tree began
}

// TreeRemoval asks for the removal of a work tree.
type TreeRemoval struct {
	Force      bool `json:"force,omitempty"` // although it holds work that is nowhere else; that is kept under a reference
	KeepBranch bool `json:"keep_branch,omitempty"`
}

// MergeWorktree commits that the branch of a work tree is to be merged. The tree's lane does it, and Last says what came of it.
func (d *Room) MergeWorktree(ctx context.Context, id int64, in TreeMerging) (daemon.Worktree, error) {
	return d.askTree(ctx, id, func(t *daemon.Worktree) (*daemon.TreeTask, error) {
		into := in.Into
		if into == "" {
			into = t.Base
		}
		if into == "" {
			return nil, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeBadBranch, "It is not known from which branch work tree %d began: name the branch to merge into (--into)", id)
		}
		if len(into) > agents.MaxBranch || !worktree.ValidBranch(into) {
			return nil, daemon.Errorf(daemon.KindInvalid, daemon.CodeBadBranch, "branch %.80q is not a name that git takes", into)
		}
		if !t.Stands() {
			return nil, treeNotThere(t)
		}
		l := d.Keeper.Look(ctx, placeOf(t))
		switch {
		case l.Gone:
			return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeGone, "Work tree %d is not in %s any more: somebody has removed it", id, t.Path)
		case l.Problem != "":
			return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeRefused, "%s", words.Capital(words.TrimDot(l.Problem)))
		case l.UncommittedCount > 0:
			return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeUncommitted, "Work tree %d holds %s not committed (%s): commit that there, or ask its agent to, and merge again",
				id, words.Count(l.UncommittedCount, "file"), words.List(l.Uncommitted[:min(len(l.Uncommitted), 3)], l.UncommittedCount))
		}
		return &daemon.TreeTask{Do: daemon.TreeMerge, Into: into, Commit: l.Commit}, nil
	})
}

// RemoveWorktree commits that a work tree is to be removed. The tree's lane does it, unless work would be lost; Last says what came of it.
func (d *Room) RemoveWorktree(ctx context.Context, id int64, in TreeRemoval) (daemon.Worktree, error) {
	return d.askTree(ctx, id, func(t *daemon.Worktree) (*daemon.TreeTask, error) {
		if t.State == daemon.TreeRemoved {
			return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeRemoved, "Work tree %d was removed already", id)
		}
		switch used, err := d.treeUsed(ctx, t); {
		case err != nil:
			return nil, err
		case used != nil:
			return nil, used
		}
		return &daemon.TreeTask{Do: daemon.TreeRemove, Force: in.Force, KeepBranch: in.KeepBranch}, nil
	})
}

// RestoreWorktree commits that a removed work tree is to be made again, with the files that it held.
func (d *Room) RestoreWorktree(ctx context.Context, id int64) (daemon.Worktree, error) {
	return d.askTree(ctx, id, func(t *daemon.Worktree) (*daemon.TreeTask, error) {
		if t.State != daemon.TreeRemoved || t.KeptRef == "" {
			return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeStands, "Work tree %d was not removed, so there is nothing to bring back", id)
		}
		return &daemon.TreeTask{Do: daemon.TreeRestore}, nil
	})
}

// treeNotThere returns the error that a tree does not stand.
func treeNotThere(t *daemon.Worktree) *daemon.Error {
	switch t.State {
	case daemon.TreePlanned:
		return daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeBusy, "Work tree %d is being made: try again", t.ID)
	case daemon.TreeRemoved:
		return daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeRemoved, "Work tree %d was removed: bring it back with `understudy worktree restore %[1]d`", t.ID)
	}
	return daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeGone, "Work tree %d was never made", t.ID)
}

// askTree commits a task of a work tree. decide says which one; it is called again if another writer changes the row first.
func (d *Room) askTree(ctx context.Context, id int64, decide func(*daemon.Worktree) (*daemon.TreeTask, error)) (daemon.Worktree, error) {
	for {
		t, err := d.worktreeRow(ctx, id)
		switch {
		case err != nil:
			return t, err
		case t.Host != d.Host:
			return t, d.RequireThisHost(t.Host)
		case d.Keeper == nil:
			return t, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeWorktreeRefused, "This daemon makes no work trees")
		case t.Task != nil:
			return t, daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeBusy, "Work tree %d has something being done with it (%s): wait until that is over", id, t.Task.Do)
		}
		task, err := decide(&t)
		if err != nil {
			return t, err
		}
		t.Ask(*task, d.Now())
		e := d.TreeEvent(event.WorktreeAsked, &t, map[string]any{"do": t.Task.Do, "into": t.Task.Into, "force": t.Task.Force})
		err = d.Commit(ctx, &daemon.Change{Worktrees: []*daemon.Worktree{&t}, Events: []*event.Event{e}})
		if errors.Is(err, daemon.ErrMoved) && ctx.Err() == nil {
			continue
		}
		return t, err
	}
}

func (d *Room) worktreeRow(ctx context.Context, id int64) (daemon.Worktree, error) {
	t, err := d.Store.Worktree(ctx, id)
	return t, engine.NotFoundAs(err, daemon.ErrWorktreeNotFound)
}

// treeUsed returns the error that a tree is in use: its pipeline works in it, or an agent does, or the open handoff of an agent will start a
// successor in it. nil: it is not. A pipeline that itself asks for the removal of its tree is no use.
func (d *Room) treeUsed(ctx context.Context, t *daemon.Worktree) (used *daemon.Error, err error) {
	if t.Task == nil || !t.Task.ByPipeline {
		if open, err := d.pipelineOpen(ctx, t); open || err != nil {
			return daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeUsed, "Pipeline %s works in its work tree: abort it first, or wait until it is done", agents.OptionalID(t.PipelineID)), err
		}
	}
	users, err := d.AllAgents(ctx, daemon.AgentFilter{Active: true, Host: t.Host})
	if err != nil {
		return nil, err
	}
	open, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{Open: true, Host: t.Host, Limit: daemon.MostAgents})
	for i := range open {
		a, err := d.Store.Agent(ctx, open[i].AgentID)
		if err != nil {
			return nil, err
		}
		users = append(users, a)
	}
	for i := range users {
		if a := &users[i]; uses(t, a) {
			return daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeUsed, "Agent %d (%s) works in work tree %d: stop it first with `understudy agent stop %[1]d --wait`", a.ID, a.Name, t.ID), nil
		}
	}
	return nil, err
}

// workTree does what is due for a work tree, and commits what came of it.
func (d *Room) workTree(ctx context.Context, id int64) (moved bool, again time.Duration, err error) {
	t, err := d.Store.Worktree(ctx, id)
	if err != nil || t.Host != d.Host || t.Task == nil && t.State != daemon.TreePlanned {
		return false, 0, err
	}
	do := daemon.TreeMake
	if t.Task != nil {
		do = t.Task.Do
	}
	var e *event.Event
	var wake []int64 // agents that wait for the outcome
	switch do {
	case daemon.TreeMake:
		e, wake, err = d.makeTree(ctx, &t)
	case daemon.TreeMerge:
		e, err = d.mergeTree(ctx, &t)
	case daemon.TreeRemove:
		e, err = d.removeTree(ctx, &t)
	case daemon.TreeRestore:
		e, err = d.restoreTree(ctx, &t)
	default:
		err = fmt.Errorf("unknown task %q", do)
	}
	if err != nil {
		return false, 0, fmt.Errorf("worktree %d: %w", id, err)
	}
	if len(wake) > 0 {
		e.AgentID = &wake[0]
	}
	if err := d.Commit(ctx, &daemon.Change{Worktrees: []*daemon.Worktree{&t}, Events: []*event.Event{e}}); err != nil {
		return false, 0, fmt.Errorf("worktree %d: %w", id, err)
	}
	for _, id := range wake {
		d.Wake(id)
	}
	return true, 0, nil
}

// treeTries is how often a task of a work tree is tried before an error is its outcome.
const treeTries = 3

// tryAgain reports whether a task whose act of git has failed is tried again a second later. An act that fails may have had its effect;
// the next try finds that out.
func (d *Room) tryAgain(ctx context.Context, t *daemon.Worktree) bool {
	return ctx.Err() != nil || d.Failures(lane.Key{Kind: engine.TreeLane, ID: t.ID}) < treeTries-1
}

func (d *Room) mergeTree(ctx context.Context, t *daemon.Worktree) (*event.Event, error) {
	task := *t.Task
	m, err := d.Keeper.Merge(ctx, worktree.Merging{Place: placeOf(t), Dir: t.Repository, Commit: task.Commit, Into: task.Into})
	if err != nil && d.tryAgain(ctx, t) {
		return nil, err
	}
	about := map[string]any{"into": task.Into, "commit": agents.Short(m.Commit)}
	if err != nil {
		m.Refused = words.TrimDot(err.Error())
	}
	if m.Refused != "" {
		about["why"] = m.Refused
		t.End(daemon.TreeMerge, false, words.Capital(m.Refused)+".", d.Now(), m.Conflicts...)
		return d.TreeEvent(event.WorktreeMergeRefused, t, about), nil
	}
	says := fmt.Sprintf("%s was merged into %s, which is at %s now", t.Branch, task.Into, agents.Short(m.Commit))
	switch {
	case m.Already:
		says = fmt.Sprintf("%s has all commits of %s", task.Into, t.Branch)
	case m.FastForward:
		says += ", by a fast-forward"
	}
	if m.Where != "" {
		says += "; the files in " + m.Where + " are up to date"
		about["where"] = m.Where
	}
	t.End(daemon.TreeMerge, true, says+".", d.Now())
	return d.TreeEvent(event.WorktreeMerged, t, about), nil
}

func (d *Room) removeTree(ctx context.Context, t *daemon.Worktree) (*event.Event, error) {
	task := *t.Task
	why := "" // the tree stays
	used, err := d.treeUsed(ctx, t)
	if err != nil {
		return nil, err
	}
	if used != nil && !d.Keeper.Look(ctx, placeOf(t)).Gone { // an agent was started meanwhile, and the removal was not begun
		why = words.TrimDot(used.Message)
	}
	ref := "refs/understudy/removed/" + strconv.FormatInt(t.ID, 10)
	var out worktree.Removed
	if why == "" {
		out, err = d.Keeper.Remove(ctx, worktree.Removal{
			Place: placeOf(t), Dir: t.Repository, Branch: t.Branch, DeleteBranch: t.NewBranch && !task.KeepBranch, Force: task.Force, Ref: ref,
		})
		why, t.Repository = out.Kept, cmp.Or(out.Repository, t.Repository) // a person has moved the repository
	}
	if err != nil {
		if d.tryAgain(ctx, t) || d.Keeper.Look(ctx, placeOf(t)).Gone { // gone: the removal was begun, and must be ended
			return nil, err
		}
		why = words.TrimDot(err.Error())
	}
	if why != "" {
		says := fmt.Sprintf("Work tree %d stays: %s", t.ID, why)
		if out.Holds {
			says += fmt.Sprintf("; commit, merge or push what you want, or remove it all the same (--force), which keeps it as %s", ref)
		}
		t.End(daemon.TreeRemove, false, says+".", d.Now())
		return d.TreeEvent(event.WorktreeKept, t, map[string]any{"why": why}), nil
	}
	now := d.Now()
	says := fmt.Sprintf("Work tree %d (%s) was removed", t.ID, t.Path)
	switch {
	case out.BranchDeleted:
		says += ", and its branch " + t.Branch
	default:
		says += "; the branch " + t.Branch + " stays"
	}
	t.Be(daemon.TreeRemoved)
	t.RemovedAt = &now
	if out.Ref {
		t.KeptRef = ref
		says += fmt.Sprintf("; `understudy worktree restore %d` brings it back from %s", t.ID, ref)
	}
	if len(out.NotKept) > 0 {
		says += "; too large to be kept: " + words.List(out.NotKept[:min(len(out.NotKept), 3)], len(out.NotKept))
	}
	t.End(daemon.TreeRemove, true, says+".", now)
	return d.TreeEvent(event.WorktreeRemoved, t, map[string]any{"kept_ref": t.KeptRef, "branch_deleted": out.BranchDeleted}), nil
}

func (d *Room) restoreTree(ctx context.Context, t *daemon.Worktree) (*event.Event, error) {
	made, err := d.Keeper.Make(ctx, worktree.Spec{Dir: t.Repository, Branch: t.Branch, Path: t.Path, Kept: t.KeptRef})
	if err != nil && d.tryAgain(ctx, t) {
		return nil, err
	}
	if err != nil {
		t.End(daemon.TreeRestore, false, words.Capital(words.TrimDot(err.Error()))+".", d.Now())
		return d.TreeEvent(event.WorktreeRestoreFailed, t, map[string]any{"why": words.TrimDot(err.Error())}), nil
	}
	for _, c := range made.Copied {
		t.Copied = append(slices.DeleteFunc(t.Copied, func(old worktree.Copied) bool { return old.Path == c.Path }), c)
	}
	t.Be(daemon.TreeStanding)
	t.RemovedAt = nil
	t.End(daemon.TreeRestore, true, fmt.Sprintf("Work tree %d stands in %s again.", t.ID, t.Path), d.Now())
	return d.TreeEvent(event.WorktreeRestored, t, nil), nil
}
