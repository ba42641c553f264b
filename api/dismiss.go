package api

import (
	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/marks"
)

type dismissAgentsRequest struct {
	IDs []int64 `json:"ids"`
}

// dismiss notes where the dismissal comes from. The domain refuses a process that runs inside an agent.
func (h agentHandlers) dismiss(c echo.Context, id int64, _ struct{}) (daemon.Agent, error) {
	return h.Marks.DismissAgent(c.Request().Context(), id, marks.Dismissal{From: cameFrom(c), Sender: sender(c.Request())})
}

func (h agentHandlers) dismissSeveral(c echo.Context, in dismissAgentsRequest) ([]daemon.Agent, error) {
	if len(in.IDs) == 0 {
		return nil, invalid(codeInvalidField, "Field \"ids\" must name the agents that were seen")
	}
	return h.Marks.DismissAgents(c.Request().Context(), in.IDs, marks.Dismissal{From: cameFrom(c), Sender: sender(c.Request())})
}
