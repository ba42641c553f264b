package api

import (
	"context"

	"github.com/understudyd/understudy/daemon"
)

// DismissAgent tells the daemon that the operator has seen that an agent died.
func (c agentCalls) DismissAgent(ctx context.Context, id int64) (daemon.Agent, error) {
	return call[daemon.Agent](ctx, c, "POST", at("agents", id, "/dismiss"), struct{}{})
}

// DismissAgents does that for several agents.
func (c agentCalls) DismissAgents(ctx context.Context, ids []int64) ([]daemon.Agent, error) {
	return call[[]daemon.Agent](ctx, c, "POST", "/api/agents/dismiss", dismissAgentsRequest{ids})
}
