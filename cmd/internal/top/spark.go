package top

import (
	"context"
	"errors"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// sparkOf draws the use of an agent's context window over the last day; "": it is not known. A daemon of the last release does
// not tell it.
func sparkOf(ctx context.Context, c *api.Client, agentID int64) (string, error) {
	t, err := c.AgentTimeline(ctx, agentID, "day")
	if told, ok := errors.AsType[*daemon.Error](err); ok && told.Kind == daemon.KindNotFound {
		return "", nil
	}
	return t.Spark(agentID), err
}
