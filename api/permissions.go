package api

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/permissions"
)

type permissionAnswerRequest struct {
	Verdict  string `json:"verdict"`
	Sentence string `json:"sentence"`
	Digest   string `json:"digest"`
}

func permissionFilter(p *params) daemon.PermissionFilter {
	return daemon.PermissionFilter{AgentID: p.id("agent_id"), Open: p.oneOf("state", "open") == "open", Before: p.id("before"), Limit: p.limit()}
}

// answerPermission notes where the answer comes from.
func (h operatorHandlers) answerPermission(ctx context.Context, id int64, in permissionAnswerRequest) (daemon.Permission, error) {
	return h.Permissions.Answer(ctx, id, permissions.Answer{
		Verdict: daemon.PermissionVerdict(in.Verdict), Sentence: in.Sentence, Digest: in.Digest,
		From: origin(ctx),
	})
}
