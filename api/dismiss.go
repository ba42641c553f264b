package api

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/marks"
)

type dismissAgentsRequest struct {
	IDs []int64 `json:"ids"`
}

// dismiss notes where the dismissal comes from. The domain refuses a process that runs inside an agent.
func (h agentHandlers) dismiss(ctx context.Context, id int64) (daemon.Agent, error) {
	return h.Marks.DismissAgent(ctx, id, marks.Dismissal{From: origin(ctx), Sender: sender(ctx)})
}

func (h agentHandlers) dismissSeveral(ctx context.Context, in dismissAgentsRequest) ([]daemon.Agent, error) {
	if len(in.IDs) == 0 {
		return nil, invalid(codeInvalidField, "Field \"ids\" must name the agents that were seen")
	}
	return h.Marks.DismissAgents(ctx, in.IDs, marks.Dismissal{From: origin(ctx), Sender: sender(ctx)})
}
