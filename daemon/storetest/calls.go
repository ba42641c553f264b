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
	hook, _ := RecordHook(t, st, Input("k"), nil)
	before := everything(t, st)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	given := map[reflect.Type]any{
		reflect.TypeFor[context.Context](): ended, reflect.TypeFor[daemon.IDKind](): daemon.AgentIDs,
		reflect.TypeFor[*daemon.Change](): &daemon.Change{Agents: []*daemon.Agent{a}},
		reflect.TypeFor[func(daemon.HookTx) daemon.HookDecision](): func(daemon.HookTx) daemon.HookDecision {
			t.Error("decide was called")
			return daemon.HookDecision{}
		},
		reflect.TypeFor[func(*tell.Preferences) *event.Event](): func(p *tell.Preferences) *event.Event { p.Waiting = false; return nil },
	}
	store := reflect.TypeFor[daemon.Store]()
	for i := range store.NumMethod() {
		method := store.Method(i)
		var args []reflect.Value
		for n := range method.Type.NumIn() {
			arg := reflect.New(method.Type.In(n)).Elem()
			if v, ok := given[arg.Type()]; ok {
				arg.Set(reflect.ValueOf(v))
			} else {
				fill(arg, func() int64 { return filled.Add(1) })
			}
			args = append(args, arg)
		}
		call := reflect.ValueOf(st).MethodByName(method.Name)
		if method.Type.IsVariadic() {
			args = args[:len(args)-1]
		}
		results := call.Call(args)
		if err, _ := results[len(results)-1].Interface().(error); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", method.Name, err)
		}
	}
	equal(t, "what can be read", everything(t, st), before)
	if next, _ := RecordHook(t, st, Input("after"), nil); next.HookID != hook.HookID+1 {
		t.Errorf("a refused call took an id: %d after %d", next.HookID, hook.HookID)
	}
}

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
	d.TypedAt, d.HandoffID = new(now()), &h.ID
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
