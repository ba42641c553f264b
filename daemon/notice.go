package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// tellNotices tells what is due of the first topic that has something to tell. cut says that there may
// be more events than those that were read; again is as for tellDue.
func (t *teller) tellNotices(ctx context.Context, notices []Event, now time.Time, cut bool) (again time.Duration, err error) {
	t.forget(now)
	again = alertRetry
	for _, group := range inGroups(notices, topic) {
		left := t.gathering(group)
		if until, held := t.held[topic(&group[0])]; held {
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
		if told || cut { // others may stand behind those that were read
			return 0, nil
		}
	}
	return again, nil
}

// tellNewest tells the newest of the notices of one topic that are to be told at all, for all of
// them; it marks the others and logs why.
func (t *teller) tellNewest(ctx context.Context, group []Event) (told bool, err error) {
	want, err := t.store.NotificationPreferences(ctx, t.host)
	if err != nil {
		return false, err
	}
	var spared []int64
	var due []Event
	for i := range group {
		e := &group[i]
		why, err := t.spare(ctx, e, &want)
		if err != nil {
			return false, err
		}
		if why == "" {
			due = append(due, *e)
			continue
		}
		spared = append(spared, e.ID)
		t.log.Debug("operator not told", "event_id", e.ID, "type", e.Type, "reason", why)
	}
	if len(spared) > 0 {
		if err := t.store.MarkAlerted(ctx, spared, nil); err != nil && !errors.Is(err, ErrMoved) {
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
	t.held[topic(&due[0])] = time.Now().Add(gap)
	return true, t.tell(ctx, due)
}

// spare says why a notice is not told, "" if it is.
func (t *teller) spare(ctx context.Context, e *Event, want *NotificationPreferences) (why string, err error) {
	switch {
	case !want.wants(e):
		return "not wanted", nil
	case t.spent(e.At) > noticeStale:
		return "too late", nil
	case e.Notice != NoticeWaiting:
		return "", nil
	}
	over, err := t.over(ctx, e)
	if over {
		why = "nobody waits any more"
	}
	return why, err
}

// over says whether who waited for a person does so no more. A run is asked for itself: its agent
// may be one of an earlier attempt.
func (t *teller) over(ctx context.Context, e *Event) (over bool, err error) {
	switch {
	case e.PipelineID != nil:
		p, err := t.store.Pipeline(ctx, *e.PipelineID)
		return err == nil && p.Status != PipelineWaiting || errors.Is(err, ErrNotFound), found(err)
	case e.AgentID != nil:
		a, err := t.store.Agent(ctx, *e.AgentID)
		waits := a.State == Waiting
		if e.Type == EventAgentTrouble {
			waits = a.Trouble != nil
		}
		return err == nil && !waits || errors.Is(err, ErrNotFound), found(err)
	}
	return false, nil
}

// found is err, unless it says that there is no such row.
func found(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// topic is what a notice is about: what it came of, else an agent, else a run, else itself.
func topic(e *Event) string {
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
