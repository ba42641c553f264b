package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/api/dashboard"
	"github.com/understudyd/understudy/daemon/agents"
)

// diffRequest reads the parameters of a diff. The parameter file may be given several times.
func diffRequest(c echo.Context) (id int64, in agents.DiffRequest, err error) {
	if id, err = pathID(c); err != nil {
		return 0, in, err
	}
	p := paramsOf(c)
	in = agents.DiffRequest{Files: p.values[repeated], Stat: p.oneOf("stat", "", "false", "true") == "true"}
	return id, in, p.err
}

func (s *Server) showDiff(c echo.Context) error {
	id, in, err := diffRequest(c)
	if err != nil {
		return err
	}
	diff, err := s.Daemon.AgentDiff(c.Request().Context(), id, in)
	return reply(c, http.StatusOK, diff, err)
}

// diffPage returns a function that draws the page with the diff that the address asks for.
func diffPage(draw func(context.Context, int64, agents.DiffRequest) (*dashboard.Page, error)) func(echo.Context) (*dashboard.Page, error) {
	return func(c echo.Context) (*dashboard.Page, error) {
		id, in, err := diffRequest(c)
		if err != nil {
			return nil, err
		}
		return draw(c.Request().Context(), id, in)
	}
}
