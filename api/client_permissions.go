package api

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/permissions"
)

// Permissions lists permissions, the newest first. With f.Open it lists those that are still asked for. It ignores f.Host.
func (c *Client) Permissions(ctx context.Context, f daemon.PermissionFilter) ([]daemon.Permission, error) {
	of := map[string]any{"agent_id": f.AgentID, "before": f.Before, "limit": f.Limit}
	if f.Open {
		of["state"] = "open"
	}
	return call[[]daemon.Permission](ctx, c, "GET", "/api/permissions"+query(of), nil)
}

// Permission returns one permission.
func (c *Client) Permission(ctx context.Context, id int64) (daemon.Permission, error) {
	return call[daemon.Permission](ctx, c, "GET", at("permissions", id, ""), nil)
}

// AnswerPermission answers a permission. It sends the verdict, the sentence and the digest of in.
func (c *Client) AnswerPermission(ctx context.Context, id int64, in permissions.Answer) (daemon.Permission, error) {
	body := permissionAnswerRequest{Verdict: string(in.Verdict), Sentence: in.Sentence, Digest: in.Digest}
	return call[daemon.Permission](ctx, c, "POST", at("permissions", id, ""), body)
}
