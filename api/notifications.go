package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon/notices"
)

// preferencesRequest changes the notification preferences. If a field is absent, its preference stays as it is. The request
// has the same fields as the answer, so a client may change one field of an answer and send it back.
type preferencesRequest struct {
	Errors    *bool  `json:"errors"`
	Waiting   *bool  `json:"waiting"`
	Completed *bool  `json:"completed"`
	Desktop   *bool  `json:"desktop"`
	UpdatedAt string `json:"updated_at"` // ignored
}

func (s *Server) showPreferences(c echo.Context) error {
	p, err := s.Notices.Preferences(c.Request().Context())
	return reply(c, http.StatusOK, p, err)
}

func (s *Server) setPreferences(c echo.Context) error {
	var in preferencesRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	p, err := s.Notices.SetPreferences(c.Request().Context(), notices.PreferenceChange{
		Errors: in.Errors, Waiting: in.Waiting, Completed: in.Completed, Desktop: in.Desktop,
	})
	return reply(c, http.StatusOK, p, err)
}

// testRequest names a target of the settings. No address comes from the API, so that it cannot make the daemon call any.
type testRequest struct {
	Target string `json:"target"` // "": the desktop
}

func (s *Server) testNotification(c echo.Context) error {
	var in testRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	if in.Target == "" {
		return reply(c, http.StatusOK, s.Notices.Test(c.Request().Context()), nil)
	}
	tested, err := s.Notices.TestTarget(c.Request().Context(), in.Target)
	return reply(c, http.StatusOK, tested, err)
}

func (s *Server) listTargets(c echo.Context) error {
	all, err := s.Notices.Targets(c.Request().Context())
	return replyList(c, all, err)
}
