package tell

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon/event"
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

// Preferences are what the operator of a host wants to be told of.
type Preferences struct {
	Errors    bool       `json:"errors" db:"-"` // always true: nothing that has failed goes untold
	Waiting   bool       `json:"waiting"`
	Completed bool       `json:"completed"`
	Desktop   bool       `json:"desktop" db:"-"` // read only: what notify.desktop in config.yaml says
	UpdatedAt *time.Time `json:"updated_at"`     // nil: nobody has set them
}

// DefaultPreferences are those of a host whose operator has set none.
var DefaultPreferences = Preferences{Errors: true, Waiting: true, Completed: true}

// wants says whether the operator wants to be told of an event.
func (p *Preferences) wants(e *event.Event) bool {
	switch e.Notice {
	case event.NoticeWaiting:
		return p.Waiting
	case event.NoticeCompleted:
		return p.Completed
	}
	return true
}
