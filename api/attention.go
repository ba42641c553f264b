package api

import (
	"github.com/labstack/echo/v4"
)

func (s *Server) listAttention(c echo.Context) error {
	all, err := s.Daemon.Overview(c.Request().Context())
	return replyList(c, all.Attention(), err)
}
