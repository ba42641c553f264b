package api

import (
	"context"

	"github.com/understudyd/understudy/daemon/notices"
	"github.com/understudyd/understudy/daemon/tell"
)

// preferencesRequest changes the notification preferences. If a field is absent, its preference stays as it is. The request
// has the same fields as the answer, so a client may change one field of an answer and send it back.
type preferencesRequest struct {
	Errors    *bool  `json:"errors,omitempty"`
	Waiting   *bool  `json:"waiting,omitempty"`
	Completed *bool  `json:"completed,omitempty"`
	Desktop   *bool  `json:"desktop,omitempty"`
	UpdatedAt string `json:"updated_at,omitempty"` // ignored
}

func (h operatorHandlers) setPreferences(ctx context.Context, in preferencesRequest) (tell.Preferences, error) {
	return h.Notices.SetPreferences(ctx, notices.PreferenceChange{
		Errors: in.Errors, Waiting: in.Waiting, Completed: in.Completed, Desktop: in.Desktop,
	})
}

// testRequest names a target of the settings. No address comes from the API, so that it cannot make the daemon call any.
type testRequest struct {
	Target string `json:"target"` // "": the desktop
}

func (h operatorHandlers) testNotification(ctx context.Context, in testRequest) (notices.Tested, error) {
	if in.Target == "" {
		return h.Notices.Test(ctx), nil
	}
	return h.Notices.TestTarget(ctx, in.Target)
}
