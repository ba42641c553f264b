package storetest

import (
	"errors"
	"reflect"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// WholeRecord returns a record of a handoff in which no field is empty, not committed.
func WholeRecord(h *daemon.Handoff) *daemon.Record {
	var r daemon.Record
	fill(reflect.ValueOf(&r).Elem())
	r.HandoffID, r.AgentID = h.ID, h.AgentID
	return &r
}

// Recorded returns a change that moves h to recorded and adds its record.
func Recorded(h *daemon.Handoff, r *daemon.Record) *daemon.Change {
	c := Moved(h, daemon.Recorded)
	c.NewRecord = r
	return c
}

// NewRecord commits a new handoff of an agent and its record.
func NewRecord(t testing.TB, st daemon.Store, agentID int64) *daemon.Record {
	t.Helper()
	h := NewHandoff(t, st, agentID)
	r := WholeRecord(h)
	Commit(t, st, Recorded(h, r))
	return r
}

func recordIsKeptWhole(t *testing.T, st daemon.Store) {
	r := NewRecord(t, st, NewAgent(t, st, nil).ID)
	equal(t, "whole", result(st.Record(t.Context(), r.HandoffID))(t), *r)

	h := NewHandoff(t, st, NewAgent(t, st, nil).ID)
	Commit(t, st, Recorded(h, &daemon.Record{HandoffID: h.ID, AgentID: h.AgentID, Decisions: []data.Decision{{}}}))
	equal(t, "empty", result(st.Record(t.Context(), h.ID))(t), daemon.Record{
		HandoffID: h.ID, AgentID: h.AgentID, Messages: []data.Message{}, Todos: []data.Todo{}, References: []data.Reference{},
		Decisions: []data.Decision{{RelatedArtifacts: []string{}}},
	})

	h = NewHandoff(t, st, NewAgent(t, st, nil).ID)
	Commit(t, st, Recorded(h, &daemon.Record{HandoffID: h.ID, AgentID: h.AgentID}))
	equal(t, "no decisions", result(st.Record(t.Context(), h.ID))(t).Decisions, []data.Decision{})
	if _, err := st.Record(t.Context(), NewHandoff(t, st, NewAgent(t, st, nil).ID).ID); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("a handoff without a record: %v", err)
	}
}

func recordIsReplaced(t *testing.T, st daemon.Store) {
	h := NewHandoff(t, st, NewAgent(t, st, nil).ID)
	first := WholeRecord(h)
	first.Decisions = append(first.Decisions, first.Decisions...)
	c := Recorded(h, first)
	Commit(t, st, c)
	other := NewRecord(t, st, NewAgent(t, st, nil).ID)

	late := Recorded(c.Move.Handoff, WholeRecord(h))
	late.Move.Handoff.Seq--
	if err := st.Commit(t.Context(), late); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("a late move: %v", err)
	}
	equal(t, "after a late move", result(st.Record(t.Context(), h.ID))(t), *first)

	second := WholeRecord(h)
	second.Decisions = second.Decisions[:1]
	Commit(t, st, Recorded(c.Move.Handoff, second))
	equal(t, "replaced", result(st.Record(t.Context(), h.ID))(t), *second)
	equal(t, "another handoff's", result(st.Record(t.Context(), other.HandoffID))(t), *other)
}

func recordWithAnyBytes(t *testing.T, st daemon.Store) {
	const bad, good = "a\x00\xffb\\u0000", "a\uFFFD\uFFFDb\\u0000"
	with := func(h *daemon.Handoff, s string) *daemon.Record {
		return &daemon.Record{
			HandoffID: h.ID, AgentID: h.AgentID, Agent: s, Persona: s, Document: s, Context: s, At: now(),
			Messages:   []data.Message{{Agent: s, Role: s, Text: s}},
			References: []data.Reference{{Path: s, Note: s}}, Todos: []data.Todo{{Text: s, Status: s}},
			Decisions: []data.Decision{{Agent: s, Summary: s, Rationale: s, RelatedArtifacts: []string{s, s}}},
		}
	}
	h := NewHandoff(t, st, NewAgent(t, st, nil).ID)
	want := with(h, good)
	given := with(h, bad)
	given.At = want.At
	Commit(t, st, Recorded(h, given))
	equal(t, "record", result(st.Record(t.Context(), h.ID))(t), *want)
}

func hooksLeaveTheRecordAlone(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, func(a *daemon.Agent) { a.LaunchHash = []byte("l") })
	r := NewRecord(t, st, a.ID)
	in := Input("k")
	in.LaunchHash = a.LaunchHash
	RecordHook(t, st, in, func(tx daemon.HookTx) daemon.HookDecision {
		tx.Handoff.StopHook = tx.HookID
		return daemon.HookDecision{Applied: true, Change: daemon.Change{
			Agents: []*daemon.Agent{tx.Agent}, Move: &daemon.Move{Handoff: tx.Handoff, From: tx.Handoff.Phase},
		}}
	})
	equal(t, "record", result(st.Record(t.Context(), r.HandoffID))(t), *r)
}
