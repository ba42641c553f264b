// Package tell notifies the operator about events. It reports alerts always and at once, and notices if the operator
// wants them and they still matter. Its queue is the rows of the event log, so a teller that is killed loses nothing.
// If the killed teller reported an event and did not mark it, the next teller reports that event a second time.
package tell

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data/secrets"
)

const (
	noticeGap    = 5 * time.Second  // between two notices of one topic
	causeGap     = time.Minute      // between two notices with the same Cause
	causeQuiet   = 3 * time.Second  // events with the same Cause are reported when no further one has come for this long
	causeLongest = 10 * time.Second // or when the first of them is this old
	noticeStale  = 5 * time.Minute  // a notice older than this is not reported any more
	alertRetry   = 5 * time.Second  // Run reads the rows at least this often
	alertsAtOnce = 200              // the most rows that are read at once
	NotifyWithin = 6 * time.Second  // the limit of one call of Notify; the notifier's own limit is shorter
	markWithin   = 2 * time.Second  // the limit of markTold
)

// Store is what the teller needs of the database.
type Store interface {
	// PendingAlerts returns at most limit alerts and notices of a host that are not marked yet. The alerts come first, then
	// the first notice of each topic, then the second notice of each topic, and so on.
	PendingAlerts(ctx context.Context, host string, limit int) ([]event.Event, error)
	// MarkAlerted marks the events with these ids, and stores the event told, which says that the operator was notified,
	// and the pushes. With told == nil, it only marks: the operator need not be notified. If another daemon has marked one of the events,
	// MarkAlerted stores nothing and returns no error.
	MarkAlerted(ctx context.Context, ids []int64, told *event.Event, pushes ...Push) error
	// NotificationPreferences returns which notifications the operator of a host wants.
	NotificationPreferences(ctx context.Context, host string) (Preferences, error)
	// Over reports whether the agent or the pipeline of a NoticeWaiting no longer waits, or whether the operator has seen what
	// the agent of a NoticeFinished has done.
	Over(ctx context.Context, e *event.Event) (bool, error)
}

// Config has the settings and dependencies of a teller.
type Config struct {
	Host     string
	Store    Store
	Notifier Notifier
	Routes   []Route // to which the notifications also go, as rows that a Pusher sends
	Log      *slog.Logger
	Clock    func() time.Time                    // the wall clock; the rows have its times
	Spent    func(since time.Time) time.Duration // how much of the time after since counts, as in package presence
	Marked   func()                              // called after markTold has marked a group of events; may be nil
	Kept     func(phase string) bool             // reports whether a handoff that failed in phase has its record
}

// Teller notifies the operator about a host's events, one notification after the other.
//
// It reports alerts first, in order, always and at once. It reports notices if the operator wants them and they still
// matter. After a notice of a topic it holds further notices of that topic for noticeGap. Then it shows the newest of
// them, and counts the others in its title. It gathers the alerts with the same Cause until no more of them come, and
// shows them as one notification. It does the same with the notices. A notifier that hangs or fails delays only the
// notifications after it, by two seconds each time.
//
// A Teller belongs to one goroutine.
type Teller struct {
	Config

	began     time.Time            // when Run was called
	heldUntil map[string]time.Time // by topic: no notice of the topic is reported before this time
	unmarked  []mark               // marks of reported events that the store does not have yet
}

// mark is the arguments of one MarkAlerted.
type mark struct {
	ids    []int64
	told   *event.Event
	pushes []Push
}

// New makes a teller. The teller reports nothing before Run is called.
func New(cfg Config) *Teller { return &Teller{Config: cfg, heldUntil: map[string]time.Time{}} }

// Run reports events until ctx ends. A value in alarm says that there may be a new event.
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
		pause(ctx, alarm, again)
		select { // if the alarm came with the end of the pause, reading the rows once is enough
		case <-alarm:
		default:
		}
	}
}

// tellDue reports all alerts that are due. If no alert is due, it reports the notices of one topic that is due. Run
// calls it again after the time again. again is 0 if tellDue reported something, because an alert may have come
// meanwhile.
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

// tell shows one notification for a group of events, and marks all of them. The text of groupText names the newest one.
func (t *Teller) tell(ctx context.Context, group []event.Event) error {
	e := &group[len(group)-1]
	n := Notification{Urgent: e.Alert}
	n.Title, n.Message = t.groupText(group)
	n.Title, n.Message = secrets.Mask(n.Title), secrets.Mask(n.Message) // another version may have stored the event
	var merged []int64
	for i := range group[:len(group)-1] {
		merged = append(merged, group[i].ID)
	}
	t.Log.Log(ctx, level(e), n.Title, "event_id", e.ID, "type", e.Type, "message", words.Log(n.Message))
	callCtx, cancel := context.WithTimeoutCause(ctx, NotifyWithin, fmt.Errorf("notification took over %s", NotifyWithin))
	channel, err := t.Notifier.Notify(callCtx, n)
	cancel()
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // ctx ended the call, so mark nothing: the next daemon reports the group
	}
	payload := map[string]any{"event_id": e.ID, "kind": levelOf(e), "channel": channel, "title": n.Title, "message": n.Message}
	if len(merged) > 0 {
		payload["merged"] = merged
	}
	if err != nil {
		payload["error"] = err.Error()
	}
	t.unmarked = append(t.unmarked, mark{ids: append(merged, e.ID), pushes: pushesFor(t.Routes, group, &n, t.Clock()), told: &event.Event{
		Type: event.OperatorNotified, At: t.Clock(), Host: t.Host,
		AgentID: commonID(group, func(e *event.Event) *int64 { return e.AgentID }), HandoffID: commonID(group, func(e *event.Event) *int64 { return e.HandoffID }),
		PipelineID: commonID(group, func(e *event.Event) *int64 { return e.PipelineID }), StepID: commonID(group, func(e *event.Event) *int64 { return e.StepID }),
		Payload: event.Payload(payload),
	}})
	return t.markTold(ctx)
}

// level returns the log level of an event. An alert is an error, because a person must act.
func level(e *event.Event) slog.Level {
	if e.Alert {
		return slog.LevelError
	}
	return slog.LevelInfo
}

// markTold marks the reported events in the store, even if ctx has ended because the daemon stops. Until it succeeds,
// the teller reports nothing else; otherwise it would report the same group twice.
func (t *Teller) markTold(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), markWithin, fmt.Errorf("not marked within %s", markWithin))
	defer cancel()
	for len(t.unmarked) > 0 {
		m := t.unmarked[0]
		if err := t.Store.MarkAlerted(ctx, m.ids, m.told, m.pushes...); err != nil {
			return fmt.Errorf("event %d not marked as told: %w", m.ids[len(m.ids)-1], err)
		}
		t.unmarked = t.unmarked[1:]
		if t.Marked != nil {
			t.Marked()
		}
	}
	return nil
}

// dropEndedHolds removes the topics from heldUntil that need not wait any longer.
func (t *Teller) dropEndedHolds(now time.Time) {
	maps.DeleteFunc(t.heldUntil, func(_ string, until time.Time) bool { return !now.Before(until) })
}
