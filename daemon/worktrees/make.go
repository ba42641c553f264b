package worktrees

import (
	"context"
	"errors"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// awaits returns the agents that wait for a planned tree. wanted says whether anybody does, they or its pipeline. A tree that has stood before
// is made again in any case: it may hold work.
func (d *Room) awaits(ctx context.Context, t *daemon.Worktree) (waiting []int64, wanted bool, err error) {
	active, err := d.AllAgents(ctx, daemon.AgentFilter{Active: true, Host: t.Host})
	if err != nil {
		return nil, false, err
	}
	for i := range active {
		if a := &active[i]; uses(t, a) && a.StopAskedAt == nil {
			waiting = append(waiting, a.ID)
		}
	}
	open, err := d.pipelineOpen(ctx, t)
	return waiting, open || len(waiting) > 0 || t.MadeAt != nil, err
}

// makeTree makes a planned tree, or takes what an earlier daemon has made of it. If nobody waits for the tree any more, or it can't be made,
// makeTree deletes what stands of it: nobody has worked there.
func (d *Room) makeTree(ctx context.Context, t *daemon.Worktree) (e *event.Event, waiting []int64, err error) {
	waiting, wanted, err := d.awaits(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	var made worktree.Made
	cause := agents.ErrNoKeeper
	if wanted && d.Keeper != nil {
		from := ""
		if t.NewBranch {
			from = t.BaseCommit
		}
		if made, cause = d.Keeper.Make(ctx, worktree.Spec{Dir: sourceOf(t), Branch: t.Branch, From: from, Path: t.Path}); ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if waiting, wanted, err = d.awaits(ctx, t); err != nil {
			return nil, nil, err
		}
	}
	if !wanted {
		cause = errors.New("nobody waits for it any more")
	}
	if cause != nil {
		return d.treeNotMade(ctx, t, cause), waiting, nil
	}
	now := d.Now()
	t.Be(daemon.TreeStanding)
	t.MadeAt, t.Copied, t.Workdir = &now, made.Copied, made.Workdir
	return d.TreeEvent(event.WorktreeCreated, t, map[string]any{"base": t.Base, "copied": copiedWords(t.Copied), "submodules": made.Submodules}), waiting, nil
}

func (d *Room) treeNotMade(ctx context.Context, t *daemon.Worktree, cause error) *event.Event {
	if t.MadeAt == nil && d.Keeper != nil {
		if out, err := d.Keeper.Remove(ctx, worktree.Removal{Place: placeOf(t), Dir: sourceOf(t), Discard: true}); err != nil || out.Kept != "" {
			d.Log.Warn("work tree that nobody has worked in not removed", "worktree_id", t.ID, "path", t.Path, "kept", out.Kept, "error", err)
		}
	}
	t.Be(daemon.TreeFailed)
	t.End(daemon.TreeMake, false, agents.NotMade(t.Branch, cause)+".", d.Now())
	return d.TreeEvent(event.WorktreeFailed, t, map[string]any{"error": words.TrimDot(cause.Error())})
}

// pipelineOpen reports whether the pipeline of a tree has not ended.
func (d *Room) pipelineOpen(ctx context.Context, t *daemon.Worktree) (bool, error) {
	if t.PipelineID == nil {
		return false, nil
	}
	p, err := d.Store.Pipeline(ctx, *t.PipelineID)
	if errors.Is(err, daemon.ErrNotFound) { // it was deleted meanwhile
		return false, nil
	}
	return err == nil && p.Open(), err
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
