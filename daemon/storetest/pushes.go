package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// pushes: new pushes come with the mark of their events or not at all, and each is moved by one writer.
func pushes(t *testing.T, st daemon.Store) {
	ctx := t.Context()
	alert := &event.Event{Type: "t", Host: "h1", Alert: true}
	Commit(t, st, &daemon.Change{Events: []*event.Event{alert}})
	at := time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.FixedZone("", 3600))
	push := func(key, target string) tell.Push {
		return tell.Push{Host: "h1", Target: target, Key: key, NextAt: at, Message: tell.Message{
			Title: "it\x00s ‹title›", Text: "text", Level: "error", Type: "t", At: at, AgentID: ptr(int64(7)), EventID: alert.ID}}
	}
	told := &event.Event{Type: event.OperatorNotified, Host: "h1"}
	if err := st.MarkAlerted(ctx, []int64{alert.ID}, told, push("a", "phone"), push("b", "team"), push("c", "phone")); err != nil {
		t.Fatal(err)
	}
	if err := st.MarkAlerted(ctx, []int64{alert.ID}, told, push("d", "phone")); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("marked again: %v", err)
	}
	open := func(target string) []tell.Push { return result(st.OpenPushes(ctx, "h1", target))(t) }
	all := open("")
	if len(all) != 3 || len(open("phone")) != 2 || len(result(st.OpenPushes(ctx, "h2", ""))(t)) != 0 {
		t.Fatalf("open: %+v", all)
	}
	p := all[0]
	if p.Key != "a" || p.State != tell.PushPending || p.Attempts != 0 || p.CreatedAt.IsZero() || !p.NextAt.Equal(at.Truncate(time.Microsecond)) || p.NextAt.Location() != time.UTC {
		t.Errorf("%+v", p)
	}
	if m := p.Message; m.Title != "it\ufffds ‹title›" || !m.At.Equal(at) || *m.AgentID != 7 || m.HandoffID != nil || m.EventID != alert.ID {
		t.Errorf("message %+v", m)
	}
	claimed := p
	claimed.State, claimed.Attempts = tell.PushSending, 1
	move := func(p *tell.Push, from tell.PushState, attempts int, e *event.Event) bool {
		t.Helper()
		return result(st.MovePush(ctx, p, from, attempts, e))(t)
	}
	if !move(&claimed, tell.PushPending, 0, nil) || move(&claimed, tell.PushPending, 0, nil) || move(&claimed, tell.PushSending, 2, nil) {
		t.Error("a push is claimed by one writer, once")
	}
	before := len(events(t, st))
	failed := claimed
	failed.State, failed.Error, failed.MaybeTwice = tell.PushFailed, "it\x00s down", true
	if move(&failed, tell.PushPending, 1, told) || len(events(t, st)) != before {
		t.Error("a push that was not moved has no event")
	}
	if !move(&failed, tell.PushSending, 1, told) || len(events(t, st)) != before+1 {
		t.Error("a push that is given up has its event")
	}
	retried := all[1]
	retried.Attempts, retried.Error, retried.NextAt = 1, "later", at.Add(time.Hour)
	sent := all[2]
	sent.State = tell.PushSent
	if !move(&retried, tell.PushPending, 0, nil) || !move(&sent, tell.PushPending, 0, nil) {
		t.Error("not moved")
	}
	if got := open(""); len(got) != 1 || got[0].Error != "later" || !got[0].NextAt.Equal(retried.NextAt.Truncate(time.Microsecond)) {
		t.Errorf("open at the end: %+v", got)
	}
	reports := result(st.PushReports(ctx, "h1"))(t)
	if len(reports) != 2 || reports[0].Target != "phone" || reports[0].Twice != 1 || reports[0].Open != 0 || reports[0].Error != "it\ufffds down" ||
		reports[0].SentAt == nil || reports[0].FailedAt == nil || reports[0].Retrying || !reports[1].Retrying || reports[1].Open != 1 {
		t.Errorf("reports %+v", reports)
	}
	if err := st.PrunePushes(ctx, "h1", time.Now().Add(-time.Hour)); err != nil || len(result(st.PushReports(ctx, "h1"))(t)) != 2 {
		t.Errorf("pruned: %v", err)
	}
	if err := st.PrunePushes(ctx, "h1", time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if left := result(st.PushReports(ctx, "h1"))(t); len(left) != 1 || left[0].Target != "team" || len(open("")) != 1 {
		t.Errorf("left %+v", left)
	}
}
