package api

import (
	"context"

	"github.com/understudyd/understudy/daemon"
)

// NotificationPreferences returns what the operator of the daemon's host wants to be told of.
func (c *Client) NotificationPreferences(ctx context.Context) (daemon.NotificationPreferences, error) {
	return call[daemon.NotificationPreferences](ctx, c, "GET", "/api/notifications/preferences", nil)
}

// SetNotificationPreferences changes them; what is nil stays as it is.
func (c *Client) SetNotificationPreferences(ctx context.Context, in daemon.PreferenceChange) (daemon.NotificationPreferences, error) {
	fields := map[string]bool{}
	for name, value := range map[string]*bool{"errors": in.Errors, "waiting": in.Waiting, "completed": in.Completed, "desktop": in.Desktop} {
		if value != nil {
			fields[name] = *value
		}
	}
	return call[daemon.NotificationPreferences](ctx, c, "PUT", "/api/notifications/preferences", fields)
}

// TestNotification has the daemon tell a notification now.
func (c *Client) TestNotification(ctx context.Context) (daemon.TestedNotification, error) {
	return call[daemon.TestedNotification](ctx, c, "POST", "/api/notifications/test", struct{}{})
}
