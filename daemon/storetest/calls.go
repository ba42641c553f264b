package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// callsWithoutContext: the store refuses each call whose context has ended, and changes nothing.
func callsWithoutContext(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, func(a *daemon.Agent) { a.LaunchHash = []byte("l") })
	r := NewRecord(t, st, a.ID)
	d, p := NewDelivery(t, st, a.ID), NewPipeline(t, st, 1, nil)
	hook, _ := RecordHook(t, st, Input("k"), nil)
	alert := &event.Event{Type: "t", Host: "h1", At: now().Add(-time.Hour), Alert: true}
	Commit(t, st, &daemon.Change{Events: []*event.Event{alert}})
	before := everything(t, st)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	prune := daemon.PruneLimits{Before: now()}
	for name, err := range map[string]error{
		"Commit": st.Commit(ended, &daemon.Change{Agents: []*daemon.Agent{a}}),
		"RecordHook": errorOf(st.RecordHook(ended, Input("new"), func(daemon.HookTx) daemon.HookDecision {
			t.Error("decide was called")
			return daemon.HookDecision{}
		})),
		"NextID": errorOf(st.NextID(ended, daemon.AgentIDs)), "Agent": errorOf(st.Agent(ended, a.ID)),
		"AgentByLaunch": errorOf(st.AgentByLaunch(ended, a.LaunchHash)), "Agents": errorOf(st.Agents(ended, daemon.AgentFilter{})),
		"Handoff": errorOf(st.Handoff(ended, r.HandoffID)), "Handoffs": errorOf(st.Handoffs(ended, daemon.HandoffFilter{})),
		"Transitions": errorOf(st.Transitions(ended, r.HandoffID)), "Record": errorOf(st.Record(ended, r.HandoffID)),
		"LineRecords":    errorOf(st.LineRecords(ended, daemon.LineQuery{AgentID: a.ID})),
		"LineHandoffs":   errorOf(st.LineHandoffs(ended, a.ID, 1)),
		"Pipeline":       errorOf(st.Pipeline(ended, p.ID)),
		"Pipelines":      errorOf(st.Pipelines(ended, daemon.PipelineFilter{})),
		"PipelinePlaces": errorOf(st.PipelinePlaces(ended, "h1")),
		"StoredHook":     errorOf(st.StoredHook(ended, hook.HookID)), "Delivery": errorOf(st.Delivery(ended, d.ID)),
		"Permission": errorOf(st.Permission(ended, 1)), "Permissions": errorOf(st.Permissions(ended, daemon.PermissionFilter{})),
		"Worktree": errorOf(st.Worktree(ended, 1)), "Worktrees": errorOf(st.Worktrees(ended, daemon.WorktreeFilter{})),
		"Deliveries": errorOf(st.Deliveries(ended, a.ID, 0, 0)), "OpenDeliveries": errorOf(st.OpenDeliveries(ended, a.ID)),
		"Sent": errorOf(st.Sent(ended, a.ID, now())), "Events": errorOf(st.Events(ended, event.Filter{})),
		"LastEventID": errorOf(st.LastEventID(ended)), "PendingAlerts": errorOf(st.PendingAlerts(ended, "h1", 0)),
		"MarkAlerted": st.MarkAlerted(ended, []int64{alert.ID}, nil), "Audit": errorOf(st.Audit(ended, daemon.AuditFilter{})),
		"LogFloor": errorOf(st.LogFloor(ended)), "PruneEvents": errorOf(st.PruneEvents(ended, prune)),
		"PruneHooks": errorOf(st.PruneHooks(ended, prune)), "Open": errorOf(st.Open(ended, "h1")),
		"TryWrite": st.TryWrite(ended, "h1"), "HostRoot": errorOf(st.HostRoot(ended, "h1")), "Census": errorOf(st.Census(ended, "h1")),
		"OpenPushes": errorOf(st.OpenPushes(ended, "h1", "")), "PushReports": errorOf(st.PushReports(ended, "h1")),
		"MovePush":                errorOf(st.MovePush(ended, &tell.Push{}, tell.PushPending, 0, nil)),
		"PrunePushes":             st.PrunePushes(ended, "h1", now()),
		"NotificationPreferences": errorOf(st.NotificationPreferences(ended, "h1")),
		"ChangeNotificationPreferences": errorOf(st.ChangeNotificationPreferences(ended, "h1",
			func(p *tell.Preferences) *event.Event { p.Waiting = false; return nil })),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", name, err)
		}
	}
	equal(t, "what can be read", everything(t, st), before)
	if next, _ := RecordHook(t, st, Input("after"), nil); next.HookID != hook.HookID+1 {
		t.Errorf("a refused call took an id: %d after %d", next.HookID, hook.HookID)
	}
}

func errorOf[T any](_ T, err error) error { return err }

// rowsAreCopied: a caller may overwrite the rows that it gave to the store and the rows that it got from it. The
// stored rows do not change.
func rowsAreCopied(t *testing.T, st daemon.Store) {
	var give []any
	a := WholeAgent(t, st)
	Commit(t, st, &daemon.Change{NewAgent: a})
	h := WholeHandoff(t, st)
	h.AgentID = a.ID
	Commit(t, st, &daemon.Change{NewHandoff: h})
	m := &daemon.Move{Handoff: h, From: h.Phase}
	r := WholeRecord(h)
	Commit(t, st, &daemon.Change{Move: m, NewRecord: r})
	d := NewDelivery(t, st, a.ID)
	d.TypedAt, d.HandoffID = ptr(now()), &h.ID
	Commit(t, st, &daemon.Change{Deliveries: []*daemon.Delivery{d}})
	p := wholePipeline(t, st)
	Commit(t, st, &daemon.Change{NewPipeline: p})
	o := WholeOutput(t, st, p.Steps[0].ID, a.ID)
	e := &event.Event{Type: "t", Host: "h1", AgentID: &a.ID, Payload: json.RawMessage(`{"a": 1}`), Alert: true}
	Commit(t, st, &daemon.Change{NewOutput: o, Events: []*event.Event{e}})
	in := Input("k")
	in.LaunchHash = a.LaunchHash
	output := json.RawMessage(`{"b": 2}`)
	hook, _ := RecordHook(t, st, in, func(tx daemon.HookTx) daemon.HookDecision {
		give = append(give, tx.Agent, tx.Handoff, tx.Deliveries)
		return daemon.HookDecision{Output: output}
	})
	if give[1].(*daemon.Handoff) == nil || len(give[2].([]*daemon.Delivery)) == 0 {
		t.Fatal("nothing was open")
	}
	ids := struct{ a, h, d, p, hook int64 }{a.ID, h.ID, d.ID, p.ID, hook.HookID}
	hash := slices.Clone(a.LaunchHash)
	singly := func() []any {
		ctx := t.Context()
		return []any{
			result(st.Agent(ctx, ids.a))(t), result(st.AgentByLaunch(ctx, hash))(t), result(st.Handoff(ctx, ids.h))(t),
			result(st.Record(ctx, ids.h))(t), result(st.Delivery(ctx, ids.d))(t), result(st.Pipeline(ctx, ids.p))(t),
			result(st.StoredHook(ctx, ids.hook))(t),
		}
	}
	before, beforeSingly := everything(t, st), singly()
	read, readSingly := everything(t, st), singly()
	equal(t, "read twice", read, before)
	for _, v := range append(give, a, h, r, d, p, o, e, &in, &output, &hook, &read, &readSingly) {
		spoil(reflect.ValueOf(v))
	}
	equal(t, "what can be read", everything(t, st), before)
	equal(t, "what can be read, row by row", singly(), beforeSingly)
	again, _ := RecordHook(t, st, Input("k"), nil)
	equal(t, "its output", string(again.Output), `{"b": 2}`)
}

// spoil overwrites everything to which a value refers.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		spoil(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type() != reflect.TypeFor[time.Time]() {
				spoil(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			item := v.Index(i)
			if item.Kind() == reflect.Interface { // it holds a struct: overwrite what its pointers and lists refer to
				inner := reflect.New(item.Elem().Type()).Elem()
				inner.Set(item.Elem())
				spoil(inner)
				continue
			}
			if item.Kind() == reflect.Struct || item.Kind() == reflect.Pointer {
				spoil(item)
			} else {
				item.SetZero()
			}
		}
	case reflect.Map:
		v.Clear()
	}
	if v.CanSet() && v.Kind() != reflect.Pointer {
		v.SetZero()
	}
}
