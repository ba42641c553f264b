package tell

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// Notifier shows notifications to the operator, outside the API.
type Notifier interface {
	// Notify shows a notification within two seconds or gives up. channel says where the notification was shown
	// ("desktop", "log"). Several goroutines may call Notify at once.
	Notify(ctx context.Context, n Notification) (channel string, err error)
}

// Notification is one message for the operator. Message may contain text that agents wrote.
type Notification struct {
	Title   string
	Message string // ends with the command to run
	Urgent  bool   // something has failed
}

// Preferences say which notifications the operator of a host wants.
type Preferences struct {
	Errors    bool       `json:"errors" db:"-"` // always true: every failure is reported
	Waiting   bool       `json:"waiting"`
	Completed bool       `json:"completed"`
	Desktop   bool       `json:"desktop" db:"-"` // read only: notify.desktop of config.yaml
	UpdatedAt *time.Time `json:"updated_at"`     // nil: the operator has never set them
}

// DefaultPreferences are the preferences of a host whose operator has set none.
var DefaultPreferences = Preferences{Errors: true, Waiting: true, Completed: true}

// wants reports whether the operator wants to be told about an event.
func (p *Preferences) wants(e *event.Event) bool {
	switch e.Notice {
	case event.NoticeWaiting:
		return p.Waiting
	case event.NoticeCompleted:
		return p.Completed
	}
	return true
}
