package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/api/dashboard"
	"github.com/understudyd/understudy/daemon/pictures"
)

// spans are the values of the parameter span.
var spans = map[string]time.Duration{"": pictures.Day, "day": pictures.Day, "week": pictures.Week, "month": pictures.Month}

// span returns how much time a timeline shows.
func (p *params) span() time.Duration { return spans[p.oneOf("span", "day", "week", "month")] }

func (s *Server) showAgentTimeline(c echo.Context) error {
	p := paramsOf(c)
	span := p.span()
	id, err := pathID(c)
	if err == nil {
		err = p.err
	}
	if err != nil {
		return err
	}
	out, err := s.Pictures.AgentTimeline(c.Request().Context(), id, span)
	return reply(c, http.StatusOK, out, err)
}

func (s *Server) showDurations(c echo.Context) error {
	return replyOne(c, http.StatusOK, s.Pictures.Durations)
}

func (s *Server) agentPage(c echo.Context) (*dashboard.Page, error) {
	p := paramsOf(c)
	span := p.span()
	id, err := pathID(c)
	if err == nil {
		err = p.err
	}
	if err != nil {
		return nil, err
	}
	return s.pages.Agent(c.Request().Context(), id, span)
}

func (s *Server) personaPage(c echo.Context) (*dashboard.Page, error) {
	return s.pages.Persona(c.Request().Context(), c.Param("slug"))
}
