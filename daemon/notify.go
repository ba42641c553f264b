package daemon

import (
	"context"
	"fmt"
	"time"
)

// Notifier tells the operator outside the API.
type Notifier interface {
	// Notify shows a notification within two seconds or gives up. channel says how it was told
	// ("desktop", "log"). It may be called from several goroutines.
	Notify(ctx context.Context, n Notification) (channel string, err error)
}

// Notification is one message for the operator. What agents write may be in the message.
type Notification struct {
	Title   string
	Message string // ends with the command to run
	Urgent  bool   // something has failed
}

// NotifySettings say what may be done to reach the operator.
type NotifySettings struct {
	Desktop bool // notifications may be shown on the desktop
}

// NotificationPreferences are what the operator of a host wants to be told of.
type NotificationPreferences struct {
	Errors    bool       `json:"errors" db:"-"` // always true: nothing that has failed goes untold
	Waiting   bool       `json:"waiting"`
	Completed bool       `json:"completed"`
	Desktop   bool       `json:"desktop" db:"-"` // read only: what notify.desktop in config.yaml says
	UpdatedAt *time.Time `json:"updated_at"`     // nil: nobody has set them
}

// DefaultPreferences are those of a host whose operator has set none.
var DefaultPreferences = NotificationPreferences{Errors: true, Waiting: true, Completed: true}

// wants says whether the operator wants to be told of an event.
func (p *NotificationPreferences) wants(e *Event) bool {
	switch e.Notice {
	case NoticeWaiting:
		return p.Waiting
	case NoticeCompleted:
		return p.Completed
	}
	return true
}

// PreferenceChange is what is to be set; what is nil stays as it is.
type PreferenceChange struct {
	Errors    *bool // may only be true
	Waiting   *bool
	Completed *bool
	Desktop   *bool // may only be what it is
}

// PreferenceStore keeps what the operators of hosts want to be told of.
type PreferenceStore interface {
	// NotificationPreferences returns a host's, and [DefaultPreferences] where none were set.
	NotificationPreferences(ctx context.Context, host string) (NotificationPreferences, error)
	// ChangeNotificationPreferences has change alter a host's preferences, and stores them with the
	// event that it returns (nil: none) in one transaction. Of two changes at once the second sees
	// what the first has made. UpdatedAt is the store's to set.
	ChangeNotificationPreferences(ctx context.Context, host string, change func(*NotificationPreferences) *Event) (NotificationPreferences, error)
}

// NotificationPreferences returns those of this host.
func (d *Daemon) NotificationPreferences(ctx context.Context) (NotificationPreferences, error) {
	p, err := d.Store.NotificationPreferences(ctx, d.Host)
	return d.complete(p), err
}

// SetNotificationPreferences changes those of this host, and leaves an event if they are others then.
func (d *Daemon) SetNotificationPreferences(ctx context.Context, in PreferenceChange) (NotificationPreferences, error) {
	if in.Errors != nil && !*in.Errors {
		return NotificationPreferences{}, Errorf(KindInvalid, CodeErrorsAlways, "Errors are always told: field \"errors\" can only be true")
	}
	if in.Desktop != nil && *in.Desktop != d.Settings.Notify.Desktop {
		return NotificationPreferences{}, Errorf(KindInvalid, CodeDesktopIsASetting,
			"Field \"desktop\" is what notify.desktop in config.yaml says: set it to %t there and start the daemon again", *in.Desktop)
	}
	p, err := d.Store.ChangeNotificationPreferences(ctx, d.Host, func(p *NotificationPreferences) *Event {
		was := *p
		set(&p.Waiting, in.Waiting)
		set(&p.Completed, in.Completed)
		if p.Waiting == was.Waiting && p.Completed == was.Completed {
			return nil
		}
		return d.event(EventOperatorPreferencesChanged, nil, nil, map[string]any{"waiting": p.Waiting, "completed": p.Completed})
	})
	if err != nil {
		return NotificationPreferences{}, err
	}
	d.EventsChanged()
	return d.complete(p), nil
}

func set(to, from *bool) {
	if from != nil {
		*to = *from
	}
}

// complete adds what is not stored.
func (d *Daemon) complete(p NotificationPreferences) NotificationPreferences {
	p.Errors, p.Desktop = true, d.Settings.Notify.Desktop
	return p
}

// TestedNotification is how a notification was told that somebody asked for.
type TestedNotification struct {
	Channel string  `json:"channel"` // "desktop" or "log"
	Error   *string `json:"error"`   // why it was not the desktop, though it may be
}

// testLimit bounds a notification that somebody waits for.
const testLimit = 2 * time.Second

// TestNotification tells one notification now, whatever the preferences are.
func (d *Daemon) TestNotification(ctx context.Context) TestedNotification {
	ctx, cancel := context.WithTimeoutCause(ctx, testLimit, fmt.Errorf("notification took over %s", testLimit))
	defer cancel()
	n := Notification{Title: "understudy: test", Message: "This is how you will be told: `understudy notifications` says of what."}
	d.Log.Info(n.Title, "message", n.Message)
	channel, err := d.Notifier.Notify(ctx, n)
	if err == nil {
		return TestedNotification{Channel: channel}
	}
	why := err.Error()
	return TestedNotification{Channel: channel, Error: &why}
}
