package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

func (s *Server) listRuntimes(c echo.Context) error {
	return c.JSON(http.StatusOK, s.Daemon.Runtimes(c.Request().Context()))
}
