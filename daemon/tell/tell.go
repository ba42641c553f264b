// Package tell tells the operator of events: alerts always and at once, notices if the operator wants them and they still
// matter. The rows are its queue: a teller that is killed loses nothing, and what it has told but not marked yet the next one
// tells again.
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
	noticeGap    = 5 * time.Second  // between two notices about the same agent, or run without one
	causeGap     = time.Minute      // between two notices of the same cause
	causeQuiet   = 3 * time.Second  // events of one cause are told once none has come for so long
	causeLongest = 10 * time.Second // or the first of them is so old
	noticeStale  = 5 * time.Minute  // an older notice is not told any more
	alertRetry   = 5 * time.Second  // the rows are looked at so often, whatever wakes the teller
	alertsAtOnce = 200              // rows that are read at once
	NotifyWithin = 6 * time.Second  // the notifier's own limit is shorter
	markWithin   = 2 * time.Second
)

// Store is what the teller needs of the database.
type Store interface {
	// PendingAlerts returns the alerts and notices of a host that were not told yet: alerts first, then the first notice of
	// each topic, then the second, at most limit.
	PendingAlerts(ctx context.Context, host string, limit int) ([]event.Event, error)
	// MarkAlerted marks events as told, and stores told, which says so; nil: they need not be told. If another daemon has
	// marked one of them, nothing is stored, and that is no error.
	MarkAlerted(ctx context.Context, ids []int64, told *event.Event) error
	// NotificationPreferences returns what the operator of a host wants to be told of.
	NotificationPreferences(ctx context.Context, host string) (Preferences, error)
	// Over reports whether nobody waits any more for the person that a notice of somebody waiting is for.
	Over(ctx context.Context, e *event.Event) (bool, error)
}

// Config is what a teller is made of.
type Config struct {
	Host     string
	Store    Store
	Notifier Notifier
	Log      *slog.Logger
	Clock    func() time.Time                    // of the rows
	Spent    func(since time.Time) time.Duration // how much of the time since a moment in a row counts
	Marked   func()                              // called when an event was stored that says that something was told; may be nil
	Kept     func(phase string) bool             // reports whether a handoff that failed in a phase has kept its record
}

// Teller tells the operator of a host's events, one after the other. The rows are its queue: what was
// committed before a crash is told by the next daemon, and what was marked is not told again.
//
// Alerts are told first, in order, always and at once. Notices are told if the operator wants them
// and they still matter, at most one within noticeGap about the same agent: those that come sooner
// are held, and then the newest is told for all of them. Events that name their cause, alerts or
// notices, are gathered until no more of it come, and told as one. A notifier that hangs or fails holds
// up nothing but what comes after, two seconds each.
//
// It belongs to one goroutine.
type Teller struct {
	Config

	began     time.Time            // of the run
	heldUntil map[string]time.Time // until when no notice of a topic is told
	unmarked  []mark               // what was told and could not be marked
}

// mark is what is stored of something that was told.
type mark struct {
	ids  []int64
	told *event.Event
}

// New makes a teller; it tells nothing before run.
func New(cfg Config) *Teller { return &Teller{Config: cfg, heldUntil: map[string]time.Time{}} }

// Run tells until ctx ends. alarm says that there may be something new.
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
			select { // one look is enough for both
			case <-alarm:
			default:
			}
		}
		timer.Stop()
	}
}

// tellDue tells all alerts that are due, else what is due of one topic of notices. It returns how long
// nothing more is due, 0 if it has told something: then there may be an alert by now.
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

// tell notifies the operator of events, of which the newest stands for all, and marks them.
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
		return context.Cause(ctx) // cut off: the next daemon tells it
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

// level is that of an event's line in the log: a failure asks for a person.
func level(e *event.Event) slog.Level {
	if e.Alert {
		return slog.LevelError
	}
	return slog.LevelInfo
}

// markTold marks what was told, also when the daemon is about to stop. As long as it fails nothing is
// told, so that nothing is told twice.
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

// dropEndedHolds drops what holds nothing back any more.
func (t *Teller) dropEndedHolds(now time.Time) {
	maps.DeleteFunc(t.heldUntil, func(_ string, until time.Time) bool { return !now.Before(until) })
}
