package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

func (s *Server) listAttention(c echo.Context) error {
	all, err := s.Daemon.Overview(c.Request().Context())
	return replyList(c, all.Attention(), err)
}

func (s *Server) countAttention(c echo.Context) error {
	count, err := s.Daemon.AttentionCount(c.Request().Context())
	return reply(c, http.StatusOK, count, err)
}
