package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// NotifySettings say how the daemon may notify the operator.
type NotifySettings struct {
	Desktop bool // notifications may be shown on the desktop
}

// PreferenceChange is a change of preferences. A nil field stays as it is.
type PreferenceChange struct {
	Errors    *bool // only true is accepted
	Waiting   *bool
	Completed *bool
	Desktop   *bool // only the value of the setting notify.desktop is accepted
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

// NotificationPreferences returns the preferences of this host's operator.
func (d *Daemon) NotificationPreferences(ctx context.Context) (tell.Preferences, error) {
	p, err := d.Store.NotificationPreferences(ctx, d.Host)
	return d.complete(p), err
}

// SetNotificationPreferences changes the preferences of this host's operator. If that changes a stored one, it logs an
// event.
func (d *Daemon) SetNotificationPreferences(ctx context.Context, in PreferenceChange) (tell.Preferences, error) {
	if in.Errors != nil && !*in.Errors {
		return tell.Preferences{}, Errorf(KindInvalid, CodeErrorsAlways, "Errors are always told: field \"errors\" can only be true")
	}
	if in.Desktop != nil && *in.Desktop != d.Settings().Notify.Desktop {
		return tell.Preferences{}, Errorf(KindInvalid, CodeDesktopIsASetting,
			"Field \"desktop\" is what notify.desktop in config.yaml says: set it to %t there and run `understudy reload`", *in.Desktop)
	}
	p, err := d.Store.ChangeNotificationPreferences(ctx, d.Host, func(p *tell.Preferences) *event.Event {
		was := *p
		set(&p.Waiting, in.Waiting)
		set(&p.Completed, in.Completed)
		if p.Waiting == was.Waiting && p.Completed == was.Completed {
			return nil
		}
		return d.event(event.OperatorPreferencesChanged, nil, nil, map[string]any{"waiting": p.Waiting, "completed": p.Completed})
	})
	if err != nil {
		return tell.Preferences{}, err
	}
	d.EventsChanged()
	return d.complete(p), nil
}

func set(to, from *bool) {
	if from != nil {
		*to = *from
	}
}

// complete sets the preferences that are not stored: Errors is always true, and Desktop is a setting.
func (d *Daemon) complete(p tell.Preferences) tell.Preferences {
	p.Errors, p.Desktop = true, d.Settings().Notify.Desktop
	return p
}

// TestedNotification is how a test notification was shown.
type TestedNotification struct {
	Channel string  `json:"channel"` // "desktop" or "log"
	Error   *string `json:"error"`   // why it was not shown on the desktop; null: it was shown there, or the setting forbids it
}

// testLimit is how long a test notification may take. It is short because a person waits.
const testLimit = 2 * time.Second

// TestNotification shows a notification now, whatever the preferences are.
func (d *Daemon) TestNotification(ctx context.Context) TestedNotification {
	ctx, cancel := context.WithTimeoutCause(ctx, testLimit, fmt.Errorf("notification took over %s", testLimit))
	defer cancel()
	n := tell.Notification{Title: "understudy: test", Message: "This is how you will be told: `understudy notifications` says of what."}
	d.Log.Info(n.Title, "message", n.Message)
	channel, err := d.Notifier.Notify(ctx, n)
	if err == nil {
		return TestedNotification{Channel: channel}
	}
	why := err.Error()
	return TestedNotification{Channel: channel, Error: &why}
}

// newTeller makes the teller of this host's events.
func (d *Daemon) newTeller() *tell.Teller {
	return tell.New(tell.Config{
		Host: d.Host, Store: rowsToTell{d.Store}, Notifier: d.Notifier, Log: d.Log, Clock: d.now, Spent: d.timeSpent,
		Routes: d.Targets, Marked: func() { d.hub.Poke(); d.pusher.Wake() },
		Kept: func(phase string) bool { return !beforeRecord(Phase(phase)) },
	})
}

// rowsToTell is the teller's view of the store.
type rowsToTell struct{ Store }

// MarkAlerted marks events, and stores the event told, which says that the operator was told; nil: the operator need not be
// told. It also stores the pushes. If another daemon marked one of the events first, MarkAlerted writes nothing, and that is no error.
func (r rowsToTell) MarkAlerted(ctx context.Context, ids []int64, told *event.Event, pushes ...tell.Push) error {
	if err := r.Store.MarkAlerted(ctx, ids, told, pushes...); !errors.Is(err, ErrMoved) {
		return err
	}
	return nil
}

// Over reports whether the agent or the pipeline of a notice no longer waits for a person, or has been seen. For a pipeline it
// asks the pipeline's row, because the event's agent may belong to an earlier attempt at the step.
func (r rowsToTell) Over(ctx context.Context, e *event.Event) (bool, error) {
	waits, err := true, error(nil)
	switch {
	case e.PipelineID != nil:
		var p Pipeline
		p, err = r.Pipeline(ctx, *e.PipelineID)
		waits = p.Status == PipelineWaiting
	case e.AgentID != nil:
		var a Agent
		a, err = r.Agent(ctx, *e.AgentID)
		waits = a.State == Waiting
		switch e.Type {
		case event.AgentFinished:
			waits = a.Unread && a.Active()
		case event.AgentTrouble:
			waits = a.Trouble != nil
		case event.AgentLimitDecided:
			waits = a.State == Limited
		}
	}
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	return err == nil && !waits, err
}
