package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
)

// Health is the answer of /healthz and /readyz.
type Health struct {
	Status  string `json:"status"` // "ok" or "ready"
	Version string `json:"version"`
}

// health answers that the daemon runs. It checks neither the database nor tmux.
func (s *Server) health(echo.Context) (Health, error) { return Health{"ok", s.Version}, nil }

// ready answers that the daemon is ready if the database takes writes and tmux answers. Otherwise it answers with an
// error.
func (s *Server) ready(ctx context.Context) (Health, error) {
	err := s.Daemon.Ready(ctx)
	if status, _, fault := errorAnswer(err); err != nil && (fault || status != http.StatusServiceUnavailable) {
		err = &daemon.Error{
			Kind: daemon.KindUnavailable, Code: codeNotReady, Cause: err,
			Message: "The database or tmux does not answer; run `understudy doctor`",
		}
	}
	return Health{"ready", s.Version}, err
}
