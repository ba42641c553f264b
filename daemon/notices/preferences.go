package notices

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// PreferenceChange is a change of preferences. A nil field stays as it is.
type PreferenceChange struct {
	Errors    *bool // only true is accepted
	Waiting   *bool
	Completed *bool
	Desktop   *bool // only the value of the setting notify.desktop is accepted
}

// Preferences returns the preferences of this host's operator.
func (r *Room) Preferences(ctx context.Context) (tell.Preferences, error) {
	p, err := r.store.NotificationPreferences(ctx, r.env.Host)
	return r.complete(p), err
}

// SetPreferences changes the preferences of this host's operator. If that changes a stored one, it logs an
// event.
func (r *Room) SetPreferences(ctx context.Context, in PreferenceChange) (tell.Preferences, error) {
	if in.Errors != nil && !*in.Errors {
		return tell.Preferences{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeErrorsAlways, "Errors are always told: field \"errors\" can only be true")
	}
	if in.Desktop != nil && *in.Desktop != r.env.Settings().Notify.Desktop {
		return tell.Preferences{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeDesktopIsASetting,
			"Field \"desktop\" is what notify.desktop in config.yaml says: set it to %t there and run `understudy reload`", *in.Desktop)
	}
	p, err := r.store.ChangeNotificationPreferences(ctx, r.env.Host, func(p *tell.Preferences) *event.Event {
		was := *p
		set(&p.Waiting, in.Waiting)
		set(&p.Completed, in.Completed)
		if p.Waiting == was.Waiting && p.Completed == was.Completed {
			return nil
		}
		return engine.EventAbout(r.env, event.OperatorPreferencesChanged, nil, map[string]any{"waiting": p.Waiting, "completed": p.Completed})
	})
	if err != nil {
		return tell.Preferences{}, err
	}
	r.env.EventsChanged()
	return r.complete(p), nil
}

func set(to, from *bool) {
	if from != nil {
		*to = *from
	}
}

// complete sets the preferences that are not stored: Errors is always true, and Desktop is a setting.
func (r *Room) complete(p tell.Preferences) tell.Preferences {
	p.Errors, p.Desktop = true, r.env.Settings().Notify.Desktop
	return p
}

// Tested is how a test notification was shown.
type Tested struct {
	Channel string  `json:"channel"` // "desktop" or "log"
	Error   *string `json:"error"`   // why it was not shown on the desktop; null: it was shown there, or the setting forbids it
}

// testLimit is how long a test notification may take. It is short because a person waits.
const testLimit = 2 * time.Second

// Test shows a notification now, whatever the preferences are.
func (r *Room) Test(ctx context.Context) Tested {
	ctx, cancel := context.WithTimeoutCause(ctx, testLimit, fmt.Errorf("notification took over %s", testLimit))
	defer cancel()
	n := tell.Notification{Title: "understudy: test", Message: "This is how you will be told: `understudy notifications` says of what."}
	r.env.Log.Info(n.Title, "message", n.Message)
	channel, err := r.notifier.Notify(ctx, n)
	if err == nil {
		return Tested{Channel: channel}
	}
	why := err.Error()
	return Tested{Channel: channel, Error: &why}
}
