package api

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

func (s *Server) showScreen(c echo.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	p := paramsOf(c)
	asHTML := p.oneOf("format", "text", "html") == "html"
	if p.err != nil {
		return p.err
	}
	screen, err := s.Daemon.Screen(c.Request().Context(), id, asHTML)
	if err != nil {
		return err
	}
	if asHTML {
		return c.Blob(http.StatusOK, "text/html; charset=utf-8", []byte(`<pre class="screen">`+screenHTML(screen)+"</pre>\n"))
	}
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(strings.ToValidUTF8(screen, "\uFFFD")))
}
