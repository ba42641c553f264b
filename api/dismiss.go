package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/marks"
)

type dismissAgentsRequest struct {
	IDs []int64 `json:"ids"`
}

// dismissAgent notes where the dismissal comes from. The domain refuses a process that runs inside an agent.
func (s *Server) dismissAgent(c echo.Context) error {
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Agent, error) {
		if err := decode(c, &struct{}{}); err != nil {
			return daemon.Agent{}, err
		}
		return s.Marks.DismissAgent(ctx, id, marks.Dismissal{From: cameFrom(c), Sender: sender(c.Request())})
	})
}

func (s *Server) dismissAgents(c echo.Context) error {
	var in dismissAgentsRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	if len(in.IDs) == 0 {
		return invalid(codeInvalidField, "Field \"ids\" must name the agents that were seen")
	}
	done, err := s.Marks.DismissAgents(c.Request().Context(), in.IDs, marks.Dismissal{From: cameFrom(c), Sender: sender(c.Request())})
	return replyList(c, done, err)
}
