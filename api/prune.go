package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
)

// pruneRequest asks for what the settings do not keep to be deleted now.
type pruneRequest struct {
	DryRun bool `json:"dry_run"` // it is counted only
}

func (s *Server) prune(c echo.Context) error {
	var in pruneRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	ctx, prune := c.Request().Context(), s.Daemon.Prune
	if in.DryRun {
		ctx, prune = daemon.AsReader(ctx), s.Daemon.WouldPrune
	}
	out, err := prune(ctx)
	return reply(c, http.StatusOK, out, err)
}

// Prune has the daemon delete what its settings do not keep, and returns what that was; dry: what it would be.
func (c *Client) Prune(ctx context.Context, dry bool) (daemon.PruneReport, error) {
	return call[daemon.PruneReport](ctx, c, "POST", "/api/prune", map[string]bool{"dry_run": dry})
}
