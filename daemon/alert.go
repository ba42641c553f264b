package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"
)

const (
	noticeGap    = 5 * time.Second  // between two notices about the same agent, or run without one
	causeGap     = time.Minute      // between two notices of the same cause
	causeQuiet   = 3 * time.Second  // events of one cause are told once none has come for so long
	causeLongest = 10 * time.Second // or the first of them is so old
	noticeStale  = 5 * time.Minute  // an older notice is not told any more
	alertRetry   = 5 * time.Second  // the rows are looked at so often, whatever wakes the teller
	alertsAtOnce = 200              // rows that are read at once
	notifyWithin = 6 * time.Second  // the notifier's own limit is shorter
	markWithin   = 2 * time.Second
)

// alertStore is what the teller needs of the database; see [EventReader], [PreferenceStore].
type alertStore interface {
	PendingAlerts(ctx context.Context, host string, limit int) ([]Event, error)
	MarkAlerted(ctx context.Context, ids []int64, told *Event) error
	NotificationPreferences(ctx context.Context, host string) (NotificationPreferences, error)
	Agent(ctx context.Context, id int64) (Agent, error)
	Pipeline(ctx context.Context, id int64) (Pipeline, error)
}

// teller tells the operator of a host's events, one after the other. The rows are its queue: what was
// committed before a crash is told by the next daemon, and what was marked is not told again.
//
// Alerts are told first, in order, always and at once. Notices are told if the operator wants them
// and they still matter, at most one within noticeGap about the same agent: those that come sooner
// are held, and then the newest is told for all of them. Events that name their cause, alerts or
// notices, are gathered until no more of it come, and told as one. A notifier that hangs or fails holds
// up nothing but what comes after, two seconds each.
//
// It belongs to one goroutine.
type teller struct {
	host     string
	store    alertStore
	notifier Notifier
	log      *slog.Logger
	clock    func() time.Time                    // of the rows
	spent    func(since time.Time) time.Duration // of the rows, see absence
	marked   func()                              // called when an event was stored that says that something was told

	began time.Time            // of the run
	held  map[string]time.Time // until when no notice of a topic is told
	owed  []mark               // what was told and could not be marked
}

// mark is what is stored of something that was told.
type mark struct {
	ids  []int64
	told *Event
}

func (d *Daemon) newTeller() *teller {
	return &teller{host: d.Host, store: d.Store, notifier: d.Notifier, log: d.Log, clock: d.now, spent: d.spent, marked: d.hub.poke, held: map[string]time.Time{}}
}

// run tells until ctx ends. alarm says that there may be something new.
func (t *teller) run(ctx context.Context, alarm <-chan struct{}) {
	t.began = time.Now()
	for ctx.Err() == nil {
		again, err := t.tellDue(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			t.log.Warn("operator not told; trying again", "error", err)
		case again == 0:
			continue
		}
		timer := time.NewTimer(again)
		select {
		case <-ctx.Done():
		case <-alarm:
		case <-timer.C:
			drain(alarm) // one look is enough for both
		}
		timer.Stop()
	}
}

// tellDue tells all alerts that are due, else what is due of one topic of notices. It returns how long
// nothing more is due, 0 if it has told something: then there may be an alert by now.
func (t *teller) tellDue(ctx context.Context) (again time.Duration, err error) {
	if err := t.settle(ctx); err != nil {
		return alertRetry, err
	}
	events, err := t.store.PendingAlerts(ctx, t.host, alertsAtOnce)
	if err != nil {
		return alertRetry, err
	}
	now, told := time.Now(), false
	again = alertRetry
	alerts := alertsOf(events)
	for _, group := range inGroups(alerts, alertTopic) {
		if left := t.gathering(group); left > 0 {
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
func (t *teller) tell(ctx context.Context, group []Event) error {
	e := &group[len(group)-1]
	n := Notification{Urgent: e.Alert}
	n.Title, n.Message = groupText(group)
	kind := "error"
	if !e.Alert {
		kind = string(e.Notice)
	}
	var merged []int64
	for i := range group[:len(group)-1] {
		merged = append(merged, group[i].ID)
	}
	t.log.Log(ctx, level(e), n.Title, "event_id", e.ID, "type", e.Type, "message", withoutScreen(n.Message))
	callCtx, cancel := context.WithTimeoutCause(ctx, notifyWithin, fmt.Errorf("notification took over %s", notifyWithin))
	channel, err := t.notifier.Notify(callCtx, n)
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
	t.owed = append(t.owed, mark{ids: append(merged, e.ID), told: &Event{
		Type: EventOperatorNotified, At: t.clock(), Host: t.host,
		AgentID: common(group, func(e *Event) *int64 { return e.AgentID }), HandoffID: common(group, func(e *Event) *int64 { return e.HandoffID }),
		PipelineID: common(group, func(e *Event) *int64 { return e.PipelineID }), StepID: common(group, func(e *Event) *int64 { return e.StepID }),
		Payload: mustJSON(payload),
	}})
	return t.settle(ctx)
}

// level is that of an event's line in the log: a failure asks for a person.
func level(e *Event) slog.Level {
	if e.Alert {
		return slog.LevelError
	}
	return slog.LevelInfo
}

// settle marks what was told, also when the daemon is about to stop. As long as it fails nothing is
// told, so that nothing is told twice.
func (t *teller) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), markWithin, fmt.Errorf("not marked within %s", markWithin))
	defer cancel()
	for len(t.owed) > 0 {
		m := t.owed[0]
		if err := t.store.MarkAlerted(ctx, m.ids, m.told); err != nil && !errors.Is(err, ErrMoved) {
			return fmt.Errorf("event %d not marked as told: %w", m.ids[len(m.ids)-1], err)
		}
		t.owed = t.owed[1:]
		t.marked()
	}
	return nil
}

// forget drops what holds nothing back any more.
func (t *teller) forget(now time.Time) {
	maps.DeleteFunc(t.held, func(_ string, until time.Time) bool { return !now.Before(until) })
}
