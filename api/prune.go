package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
)

// pruneRequest asks the daemon to delete now the rows that its settings do not keep.
type pruneRequest struct {
	DryRun bool `json:"dry_run"` // only count the rows
}

func (s *Server) prune(c echo.Context) error {
	var in pruneRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	ctx, prune := c.Request().Context(), s.History.Prune
	if in.DryRun {
		ctx, prune = daemon.AsReader(ctx), s.History.WouldPrune
	}
	out, err := prune(ctx)
	return reply(c, http.StatusOK, out, err)
}
