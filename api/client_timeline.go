package api

import (
	"context"
	"net/url"

	"github.com/understudyd/understudy/daemon/pictures"
)

// AgentTimeline returns what happened to an agent and its line in the last "day", "week" or "month".
func (c agentCalls) AgentTimeline(ctx context.Context, id int64, span string) (pictures.Timeline, error) {
	return call[pictures.Timeline](ctx, c, "GET", at("agents", id, "/timeline?span="+url.QueryEscape(span)), nil)
}

// Durations compares how long a handoff took with the last other completed handoffs.
func (c handoffCalls) Durations(ctx context.Context, handoffID int64) (pictures.Durations, error) {
	return call[pictures.Durations](ctx, c, "GET", at("handoffs", handoffID, "/durations"), nil)
}
