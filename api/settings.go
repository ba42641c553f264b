package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

func (s *Server) reloadSettings(c echo.Context) error {
	if err := decode(c, &struct{}{}); err != nil {
		return err
	}
	done, err := s.Daemon.Reload(c.Request().Context())
	return reply(c, http.StatusOK, done, err)
}
