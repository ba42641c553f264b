package tell

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// tellNotices reports the notices of the first topic that is due. cut is true if the log may have more pending events
// than were read. again has the same meaning as in tellDue.
func (t *Teller) tellNotices(ctx context.Context, notices []event.Event, now time.Time, cut bool) (again time.Duration, err error) {
	t.dropEndedHolds(now)
	again = alertRetry
	for _, group := range inGroups(notices, noticeTopic) {
		left := t.gatherFor(group)
		if until, held := t.heldUntil[noticeTopic(&group[0])]; held {
			left = max(left, until.Sub(now))
		}
		if left > 0 {
			again = min(again, left)
			continue
		}
		told, err := t.tellNewest(ctx, group)
		if err != nil {
			return alertRetry, err
		}
		if told || cut { // read the rows again: there may be other notices now
			return 0, nil
		}
	}
	return again, nil
}

// tellNewest shows one notification for the notices of one topic. If whyNotTold gives a reason against a notice,
// tellNewest leaves that notice out, logs the reason, and marks the notice as done.
func (t *Teller) tellNewest(ctx context.Context, group []event.Event) (told bool, err error) {
	want, err := t.Store.NotificationPreferences(ctx, t.Host)
	if err != nil {
		return false, err
	}
	var spared []int64
	var due []event.Event
	for i := range group {
		e := &group[i]
		why, err := t.whyNotTold(ctx, e, &want)
		if err != nil {
			return false, err
		}
		if why == "" {
			due = append(due, *e)
			continue
		}
		spared = append(spared, e.ID)
		t.Log.Debug("operator not told", "event_id", e.ID, "type", e.Type, "reason", why)
	}
	if len(spared) > 0 {
		if err := t.Store.MarkAlerted(ctx, spared, nil); err != nil {
			return false, fmt.Errorf("notices not marked: %w", err)
		}
	}
	if len(due) == 0 {
		return false, nil
	}
	gap := noticeGap
	if due[0].Cause != "" {
		gap = causeGap
	}
	t.heldUntil[noticeTopic(&due[0])] = time.Now().Add(gap)
	return true, t.tell(ctx, due)
}

// whyNotTold returns the reason why a notice is not reported. It returns "" if the notice is to be reported.
func (t *Teller) whyNotTold(ctx context.Context, e *event.Event, want *Preferences) (why string, err error) {
	switch {
	case !want.wants(e):
		return "not wanted", nil
	case t.Spent(e.At) > noticeStale:
		return "too late", nil
	case e.Notice != event.NoticeWaiting && e.Notice != event.NoticeFinished:
		return "", nil
	}
	over, err := t.Store.Over(ctx, e)
	if over {
		why = "it is over"
	}
	return why, err
}

// noticeTopic returns the topic of a notice. That is the first of these that the notice has: its Cause, its agent, its
// pipeline. If it has none of them, the notice is a topic of its own.
func noticeTopic(e *event.Event) string {
	switch {
	case e.Cause != "":
		return e.Cause
	case e.AgentID != nil:
		return fmt.Sprintf("agent %d", *e.AgentID)
	case e.PipelineID != nil:
		return fmt.Sprintf("pipeline %d", *e.PipelineID)
	}
	return fmt.Sprintf("event %d", e.ID)
}
