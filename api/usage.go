package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/usage"
	"github.com/understudyd/understudy/daemon/views"
)

func (s *Server) showUsage(c echo.Context) error {
	p := paramsOf(c)
	by := views.UsageBy(p.oneOf("by", "persona", "agent", "line", "run", "day"))
	if by == "" {
		by = views.UsageByPersona
	}
	q := daemon.UsageQuery{Persona: p.text("persona"), PipelineID: p.id("pipeline_id"), Host: p.text("host"), Since: p.time("since")}
	if id := p.id("agent_id"); id != 0 {
		q.AgentIDs = []int64{id}
	}
	if p.err != nil {
		return p.err
	}
	out, err := s.Usage.Of(daemon.AsReader(c.Request().Context()), by, q)
	return reply(c, http.StatusOK, out, err)
}

func (s *Server) showBudget(c echo.Context) error {
	out, err := s.budget(c.Request().Context(), c.Param("slug"))
	return reply(c, http.StatusOK, out, err)
}

// budget returns a persona's budget; its error says that the persona has none.
func (s *Server) budget(ctx context.Context, slug string) (*usage.BudgetState, error) {
	if _, err := s.Personas.Get(slug); err != nil {
		return nil, err
	}
	out, err := s.Usage.Budget(ctx, slug)
	if err == nil && out == nil {
		err = usage.ErrNoBudget
	}
	return out, err
}

func (s *Server) goOnWithoutBudget(c echo.Context) error {
	if err := decode(c, &struct{}{}); err != nil {
		return err
	}
	if _, err := s.Personas.Get(c.Param("slug")); err != nil {
		return err
	}
	out, err := s.Usage.GoOn(c.Request().Context(), c.Param("slug"))
	return reply(c, http.StatusOK, out, err)
}
