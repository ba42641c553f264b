package api

import (
	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/api/dashboard"
	"github.com/understudyd/understudy/daemon"
)

func (s *Server) personaPage(c echo.Context) (*dashboard.Page, error) {
	return s.pages.Persona(c.Request().Context(), c.Param("slug"))
}

func (s *Server) personasPage(c echo.Context) (*dashboard.Page, error) {
	return s.pages.People(c.Request().Context())
}

func (s *Server) handoffsPage(c echo.Context) (*dashboard.Page, error) {
	p := paramsOf(c)
	filter := daemon.HandoffFilter{
		Persona: p.text("persona"),
		Status: daemon.Status(p.oneOf("status", "", string(daemon.StatusPending), string(daemon.StatusInProgress), // "" is what a form sends for all
			string(daemon.StatusCompleted), string(daemon.StatusFailed), string(daemon.StatusCancelled))),
		Before: p.id("before"),
	}
	if p.err != nil {
		return nil, p.err
	}
	return s.pages.Handoffs(c.Request().Context(), filter)
}
