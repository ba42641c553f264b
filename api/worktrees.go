package api

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// treeFilter is which work trees are listed.
type treeFilter struct {
	all bool // also those that were removed
	place
}

func treeFilterOf(p *params) treeFilter {
	return treeFilter{p.oneOf("all", "", "false", "true") == "true", placeOf(p)}
}

// treeHandlers answer about work trees.
type treeHandlers struct{ *house.House }

func (h treeHandlers) list(ctx context.Context, f treeFilter) ([]worktrees.TreeView, error) {
	return h.Worktrees.ListWorktrees(ctx, f.all, f.before, f.limit)
}

// Worktrees lists work trees, the newest first. With all it lists those that were removed, too.
func (c treeCalls) Worktrees(ctx context.Context, all bool) ([]worktrees.TreeView, error) {
	return call[[]worktrees.TreeView](ctx, c, "GET", "/api/worktrees"+query(map[string]any{"all": all, "limit": maxLimit}), nil)
}

// Worktree returns one work tree.
func (c treeCalls) Worktree(ctx context.Context, id int64) (worktrees.TreeView, error) {
	return call[worktrees.TreeView](ctx, c, "GET", at("worktrees", id, ""), nil)
}

// WorktreeDiff returns what has changed in a work tree since its branch began.
func (c treeCalls) WorktreeDiff(ctx context.Context, id int64, in agents.DiffRequest) (agents.AgentDiff, error) {
	return diffAt(ctx, c, at("worktrees", id, "/diff"), in)
}

// MergeWorktree asks for a merge of a work tree's branch. The tree's Last says what came of it, once its Task is nil.
func (c treeCalls) MergeWorktree(ctx context.Context, id int64, in worktrees.TreeMerging) (daemon.Worktree, error) {
	return call[daemon.Worktree](ctx, c, "POST", at("worktrees", id, "/merge"), in)
}

// RemoveWorktree asks for the removal of a work tree, as MergeWorktree does for a merge.
func (c treeCalls) RemoveWorktree(ctx context.Context, id int64, in worktrees.TreeRemoval) (daemon.Worktree, error) {
	return call[daemon.Worktree](ctx, c, "POST", at("worktrees", id, "/remove"), in)
}

// RestoreWorktree asks for a removed work tree to be made again.
func (c treeCalls) RestoreWorktree(ctx context.Context, id int64) (daemon.Worktree, error) {
	return call[daemon.Worktree](ctx, c, "POST", at("worktrees", id, "/restore"), struct{}{})
}
