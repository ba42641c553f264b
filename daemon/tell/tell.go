// Package tell tells the operator of events: of alerts always and at once, of notices if the operator wants them and
// they still matter. The rows are its queue: a teller that is killed loses nothing. The next teller tells once more
// what the killed one told and had not marked yet.
package tell

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

const (
	noticeGap    = 5 * time.Second  // between two notices of one topic
	causeGap     = time.Minute      // between two notices of one cause
	causeQuiet   = 3 * time.Second  // events of one cause are told when no other one has come for this long
	causeLongest = 10 * time.Second // or when the first of them is this old
	noticeStale  = 5 * time.Minute  // an older notice is not told any more
	alertRetry   = 5 * time.Second  // the rows are read at least this often
	alertsAtOnce = 200              // how many rows are read at once
	NotifyWithin = 6 * time.Second  // the notifier's own limit is shorter
	markWithin   = 2 * time.Second
)

// Store is what the teller needs of the database.
type Store interface {
	// PendingAlerts returns the alerts and notices of a host that were not marked yet, at most limit: first the alerts, then
	// the first notice of each topic, then the second of each, and so on.
	PendingAlerts(ctx context.Context, host string, limit int) ([]event.Event, error)
	// MarkAlerted marks events, and stores the event told, which says that the operator was told; nil: the operator need not
	// be told. If another daemon has marked one of the events, MarkAlerted stores nothing and returns no error.
	MarkAlerted(ctx context.Context, ids []int64, told *event.Event) error
	// NotificationPreferences returns what the operator of a host wants to be told of.
	NotificationPreferences(ctx context.Context, host string) (Preferences, error)
	// Over reports whether the agent or the pipeline of a notice of kind waiting waits no longer.
	Over(ctx context.Context, e *event.Event) (bool, error)
}

// Config is what a teller is made of.
type Config struct {
	Host     string
	Store    Store
	Notifier Notifier
	Log      *slog.Logger
	Clock    func() time.Time                    // the wall clock, whose times stand in the rows
	Spent    func(since time.Time) time.Duration // how much of the time since a moment in a row counts
	Marked   func()                              // called after each MarkAlerted that stored an event; may be nil
	Kept     func(phase string) bool             // reports whether a handoff that failed in phase has its record
}

// Teller tells the operator of a host's events, one notification after the other.
//
// It tells alerts first, in order, always and at once. It tells notices if the operator wants them and they still
// matter. After a notice of a topic it holds the others of that topic for noticeGap, and then tells the newest of
// them for all. It gathers events that name one cause, alerts or notices, until no more of them come, and tells them
// as one. A notifier that hangs or fails delays only what comes after it, by two seconds each time.
//
// A Teller belongs to one goroutine.
type Teller struct {
	Config

	began     time.Time            // when Run was called
	heldUntil map[string]time.Time // until when no notice of a topic is told, by the topic
	unmarked  []mark               // marks of what was told that the store has not taken yet
}

// mark is the arguments of one MarkAlerted.
type mark struct {
	ids  []int64
	told *event.Event
}

// New makes a teller. It tells nothing before Run.
func New(cfg Config) *Teller { return &Teller{Config: cfg, heldUntil: map[string]time.Time{}} }

// Run tells until ctx ends. A value in alarm says that there may be a new event.
func (t *Teller) Run(ctx context.Context, alarm <-chan struct{}) {
	t.began = time.Now()
	for ctx.Err() == nil {
		again, err := t.tellDue(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			t.Log.Warn("operator not told; trying again", "error", err)
		case again == 0:
			continue
		}
		timer := time.NewTimer(again)
		select {
		case <-ctx.Done():
		case <-alarm:
		case <-timer.C:
			select { // alarm and timer at once: one look is enough
			case <-alarm:
			default:
			}
		}
		timer.Stop()
	}
}

// tellDue tells all alerts that are due; if none is, it tells the notices of one topic that is due. It returns after
// how long something more is due; 0, if it told something, since an alert may have come meanwhile.
func (t *Teller) tellDue(ctx context.Context) (again time.Duration, err error) {
	if err := t.markTold(ctx); err != nil {
		return alertRetry, err
	}
	events, err := t.Store.PendingAlerts(ctx, t.Host, alertsAtOnce)
	if err != nil {
		return alertRetry, err
	}
	now, told := time.Now(), false
	again = alertRetry
	alerts := alertsOf(events)
	for _, group := range inGroups(alerts, alertTopic) {
		if left := t.gatherFor(group); left > 0 {
			again = min(again, left)
			continue
		}
		if err := t.tell(ctx, group); err != nil {
			return alertRetry, err
		}
		told = true
	}
	if told {
		return 0, nil
	}
	soon, err := t.tellNotices(ctx, events[len(alerts):], now, len(events) == alertsAtOnce)
	return min(again, soon), err
}

// tell notifies the operator of a group of events by its newest one, and marks them all.
func (t *Teller) tell(ctx context.Context, group []event.Event) error {
	e := &group[len(group)-1]
	n := Notification{Urgent: e.Alert}
	n.Title, n.Message = t.groupText(group)
	kind := "error"
	if !e.Alert {
		kind = string(e.Notice)
	}
	var merged []int64
	for i := range group[:len(group)-1] {
		merged = append(merged, group[i].ID)
	}
	t.Log.Log(ctx, level(e), n.Title, "event_id", e.ID, "type", e.Type, "message", words.Log(n.Message))
	callCtx, cancel := context.WithTimeoutCause(ctx, NotifyWithin, fmt.Errorf("notification took over %s", NotifyWithin))
	channel, err := t.Notifier.Notify(callCtx, n)
	cancel()
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // the call was cut off: the next daemon tells the group
	}
	payload := map[string]any{"event_id": e.ID, "kind": kind, "channel": channel, "title": n.Title, "message": n.Message}
	if len(merged) > 0 {
		payload["merged"] = merged
	}
	if err != nil {
		payload["error"] = err.Error()
	}
	t.unmarked = append(t.unmarked, mark{ids: append(merged, e.ID), told: &event.Event{
		Type: event.OperatorNotified, At: t.Clock(), Host: t.Host,
		AgentID: commonID(group, func(e *event.Event) *int64 { return e.AgentID }), HandoffID: commonID(group, func(e *event.Event) *int64 { return e.HandoffID }),
		PipelineID: commonID(group, func(e *event.Event) *int64 { return e.PipelineID }), StepID: commonID(group, func(e *event.Event) *int64 { return e.StepID }),
		Payload: event.Payload(payload),
	}})
	return t.markTold(ctx)
}

// level returns the log level of an event: a failure asks for a person.
func level(e *event.Event) slog.Level {
	if e.Alert {
		return slog.LevelError
	}
	return slog.LevelInfo
}

// markTold marks what was told, also when the daemon is about to stop. Nothing else is told until it succeeds:
// otherwise a group could be told twice.
func (t *Teller) markTold(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), markWithin, fmt.Errorf("not marked within %s", markWithin))
	defer cancel()
	for len(t.unmarked) > 0 {
		m := t.unmarked[0]
		if err := t.Store.MarkAlerted(ctx, m.ids, m.told); err != nil {
			return fmt.Errorf("event %d not marked as told: %w", m.ids[len(m.ids)-1], err)
		}
		t.unmarked = t.unmarked[1:]
		if t.Marked != nil {
			t.Marked()
		}
	}
	return nil
}

// dropEndedHolds drops the holds that have ended.
func (t *Teller) dropEndedHolds(now time.Time) {
	maps.DeleteFunc(t.heldUntil, func(_ string, until time.Time) bool { return !now.Before(until) })
}
