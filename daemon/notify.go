package daemon

import (
	"context"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// NotifySettings say how the daemon may notify the operator.
type NotifySettings struct {
	Desktop bool // notifications may be shown on the desktop
}

// PreferenceStore keeps the notification preferences of each host's operator.
type PreferenceStore interface {
	// NotificationPreferences returns a host's preferences, and the defaults of package tell if none were set.
	NotificationPreferences(ctx context.Context, host string) (tell.Preferences, error)
	// ChangeNotificationPreferences passes a host's preferences to the function change, which may modify them. In one transaction
	// it stores the preferences and the event that change returns (nil: no event). If two calls come at once, the second
	// sees the result of the first. The store sets UpdatedAt.
	ChangeNotificationPreferences(ctx context.Context, host string, change func(*tell.Preferences) *event.Event) (tell.Preferences, error)
}
