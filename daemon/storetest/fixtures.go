package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// Commit commits a change that the store must not refuse.
func Commit(t testing.TB, st daemon.Store, c *daemon.Change) {
	t.Helper()
	if err := st.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func nextOf(t testing.TB, st daemon.Store, kind daemon.IDKind) int64 {
	t.Helper()
	id := result(st.NextID(t.Context(), kind))(t)
	return id
}

// NewAgent commits an agent of host h1, after change if that is not nil.
func NewAgent(t testing.TB, st daemon.Store, change func(*daemon.Agent)) *daemon.Agent {
	t.Helper()
	id := nextOf(t, st, daemon.AgentIDs)
	a := &daemon.Agent{
		ID: id, Name: "a", Runtime: "claude", Host: "h1", State: daemon.Idle, Generation: 1, CreatedAt: now(),
		Managed: true, AgentPane: daemon.AgentPane{TmuxSession: fmt.Sprintf("agent-%d", id)},
	}
	if change != nil {
		change(a)
	}
	Commit(t, st, &daemon.Change{NewAgent: a})
	return a
}

// AHandoff returns a handoff of an agent of host h1, not committed.
func AHandoff(t testing.TB, st daemon.Store, agentID int64) *daemon.Handoff {
	t.Helper()
	id := nextOf(t, st, daemon.HandoffIDs)
	return &daemon.Handoff{
		ID: id, Ref: fmt.Sprintf("ref-%d", id), AgentID: agentID, Persona: "developer-con-1", Reason: "manual", Mode: "agent",
		Phase: daemon.Requested, FilePath: fmt.Sprintf("/handoffs/%d.md", id), CreatedAt: now(), PhaseAt: now(), Host: "h1",
		Heirs: []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: "developer-con-1"}}},
	}
}

// NewHandoff commits a handoff of an agent of host h1.
func NewHandoff(t testing.TB, st daemon.Store, agentID int64) *daemon.Handoff {
	t.Helper()
	h := AHandoff(t, st, agentID)
	Commit(t, st, &daemon.Change{NewHandoff: h})
	return h
}

// ADelivery returns a message for an agent, not committed.
func ADelivery(t testing.TB, st daemon.Store, agentID int64) *daemon.Delivery {
	t.Helper()
	return &daemon.Delivery{
		ID: nextOf(t, st, daemon.DeliveryIDs), AgentID: agentID, Kind: daemon.KindMessage, Text: "hello",
		State: daemon.DeliveryQueued, CreatedAt: now(),
	}
}

// NewDelivery commits a message for an agent.
func NewDelivery(t testing.TB, st daemon.Store, agentID int64) *daemon.Delivery {
	t.Helper()
	d := ADelivery(t, st, agentID)
	Commit(t, st, &daemon.Change{NewDeliveries: []*daemon.Delivery{d}})
	return d
}

// Moved returns a change that moves a copy of h to another phase.
func Moved(h *daemon.Handoff, to daemon.Phase) *daemon.Change {
	next := *h
	next.Phase, next.PhaseAt = to, now()
	switch to {
	case daemon.Requested, daemon.Instructing, daemon.AwaitingDocument, daemon.Generating, daemon.Verifying, daemon.Cancelled:
	case daemon.Failed:
	default:
		if next.RecordedAt == nil {
			next.RecordedAt = new(now())
		}
	}
	return &daemon.Change{Move: &daemon.Move{Handoff: &next, From: h.Phase, Cause: "test"}}
}

var filled atomic.Int64

// whole returns a struct in which no field is empty.
func whole[T any]() (v T) {
	fill(reflect.ValueOf(&v).Elem(), func() int64 { return filled.Add(1) })
	return v
}

// fill gives every field of a struct a value that is neither zero nor another field's value. So a test notices a
// column that is missing or that is exchanged with another. next returns another number at each call.
func fill(v reflect.Value, next func() int64) {
	n := next()
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2016, 1, 2, 3, 4, int(n%60), int(n)*1000, time.UTC)))
		return
	case []byte, json.RawMessage:
		v.SetBytes(fmt.Append(nil, n)) // a number is valid JSON
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.String:
		v.SetString(fmt.Sprint("s", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
	case reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float64:
		v.SetFloat(float64(n) / 4)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), next)
		fill(v.Index(1), next)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, next)
		fill(value, next)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		panic("fill: " + v.Type().String())
	}
}
