package api

import (
	"context"

	"github.com/understudyd/understudy/daemon"
)

type dismissAgentsRequest struct {
	IDs []int64 `json:"ids"`
}

// dismiss notes where the dismissal comes from.
func (h agentHandlers) dismiss(ctx context.Context, id int64) (daemon.Agent, error) {
	return h.Marks.DismissAgent(ctx, id, origin(ctx))
}

func (h agentHandlers) dismissSeveral(ctx context.Context, in dismissAgentsRequest) ([]daemon.Agent, error) {
	if len(in.IDs) == 0 {
		return nil, invalid(codeInvalidField, "Field \"ids\" must name the agents that were seen")
	}
	return h.Marks.DismissAgents(ctx, in.IDs, origin(ctx))
}
