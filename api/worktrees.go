package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/api/dashboard"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// worktreeRequest asks for a work tree for a new agent.
type worktreeRequest struct {
	Branch string `json:"branch"` // "": a new one, named after the agent
	Base   string `json:"base"`   // where a new branch begins; "": at HEAD
}

type mergeRequest struct {
	Into string `json:"into,omitempty"` // "": the branch from which the tree began
}

type removeRequest struct {
	Force      bool `json:"force,omitempty"`
	KeepBranch bool `json:"keep_branch,omitempty"`
}

func (s *Server) listWorktrees(c echo.Context) error {
	p := paramsOf(c)
	all, before, limit := p.oneOf("all", "", "false", "true") == "true", p.id("before"), p.limit()
	if p.err != nil {
		return p.err
	}
	list, err := s.Worktrees.ListWorktrees(c.Request().Context(), all, before, limit)
	return replyList(c, list, err)
}

func (s *Server) worktreesPage(c echo.Context) (*dashboard.Page, error) {
	p := paramsOf(c)
	all, before := p.oneOf("all", "", "false", "true") == "true", p.id("before")
	if p.err != nil {
		return nil, p.err
	}
	return s.pages.Worktrees(c.Request().Context(), all, before)
}

func (s *Server) showWorktree(c echo.Context) error {
	return replyOne(c, http.StatusOK, s.Worktrees.ShowWorktree)
}

func (s *Server) showWorktreeDiff(c echo.Context) error {
	id, in, err := diffRequest(c)
	if err != nil {
		return err
	}
	diff, err := s.Worktrees.WorktreeDiff(c.Request().Context(), id, in)
	return reply(c, http.StatusOK, diff, err)
}

func (s *Server) mergeWorktree(c echo.Context) error {
	return replyOne(c, http.StatusAccepted, func(ctx context.Context, id int64) (daemon.Worktree, error) {
		var in mergeRequest
		if err := decode(c, &in); err != nil {
			return daemon.Worktree{}, err
		}
		return s.Worktrees.MergeWorktree(ctx, id, worktrees.TreeMerging{Into: in.Into})
	})
}

func (s *Server) removeWorktree(c echo.Context) error {
	return replyOne(c, http.StatusAccepted, func(ctx context.Context, id int64) (daemon.Worktree, error) {
		var in removeRequest
		if err := decode(c, &in); err != nil {
			return daemon.Worktree{}, err
		}
		return s.Worktrees.RemoveWorktree(ctx, id, worktrees.TreeRemoval{Force: in.Force, KeepBranch: in.KeepBranch})
	})
}

func (s *Server) restoreWorktree(c echo.Context) error {
	return replyOne(c, http.StatusAccepted, func(ctx context.Context, id int64) (daemon.Worktree, error) {
		if err := decode(c, &struct{}{}); err != nil {
			return daemon.Worktree{}, err
		}
		return s.Worktrees.RestoreWorktree(ctx, id)
	})
}

// Worktrees lists work trees, the newest first. With all it lists those that were removed, too.
func (c *Client) Worktrees(ctx context.Context, all bool) ([]worktrees.TreeView, error) {
	return call[[]worktrees.TreeView](ctx, c, "GET", "/api/worktrees?"+url.Values{"all": {strconv.FormatBool(all)}, "limit": {"500"}}.Encode(), nil)
}

// Worktree returns one work tree.
func (c *Client) Worktree(ctx context.Context, id int64) (worktrees.TreeView, error) {
	return call[worktrees.TreeView](ctx, c, "GET", at("worktrees", id, ""), nil)
}

// WorktreeDiff returns what has changed in a work tree since its branch began.
func (c *Client) WorktreeDiff(ctx context.Context, id int64, in agents.DiffRequest) (agents.AgentDiff, error) {
	return c.diff(ctx, at("worktrees", id, "/diff"), in)
}

// MergeWorktree asks for a merge of a work tree's branch. The tree's Last says what came of it, once its Task is nil.
func (c *Client) MergeWorktree(ctx context.Context, id int64, in worktrees.TreeMerging) (daemon.Worktree, error) {
	return call[daemon.Worktree](ctx, c, "POST", at("worktrees", id, "/merge"), mergeRequest{in.Into})
}

// RemoveWorktree asks for the removal of a work tree, as MergeWorktree does for a merge.
func (c *Client) RemoveWorktree(ctx context.Context, id int64, in worktrees.TreeRemoval) (daemon.Worktree, error) {
	return call[daemon.Worktree](ctx, c, "POST", at("worktrees", id, "/remove"), removeRequest{in.Force, in.KeepBranch})
}

// RestoreWorktree asks for a removed work tree to be made again.
func (c *Client) RestoreWorktree(ctx context.Context, id int64) (daemon.Worktree, error) {
	return call[daemon.Worktree](ctx, c, "POST", at("worktrees", id, "/restore"), struct{}{})
}
