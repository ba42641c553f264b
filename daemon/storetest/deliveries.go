package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

func deliveryIsKeptWhole(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	h := NewHandoff(t, st, a.ID)
	whole := func(id int64) *daemon.Delivery {
		var d daemon.Delivery
		fill(reflect.ValueOf(&d).Elem())
		d.ID, d.AgentID, d.HandoffID = id, a.ID, &h.ID
		d.Kind, d.State, d.Verdict = daemon.KindPrompt, daemon.DeliveryDone, ptr(daemon.Unconfirmed)
		d.Evidence = d.EvidenceCode.Words() // both stores read a code beside other words anew
		return &d
	}
	d := whole(nextOf(t, st, daemon.DeliveryIDs))
	Commit(t, st, &daemon.Change{NewDeliveries: []*daemon.Delivery{d}})
	equal(t, "inserted", result(st.Delivery(t.Context(), d.ID))(t), *d)

	next := whole(d.ID)
	next.Rev = d.Rev
	Commit(t, st, &daemon.Change{Deliveries: []*daemon.Delivery{next}})
	equal(t, "updated", result(st.Delivery(t.Context(), d.ID))(t), *next)
	if next.Rev != d.Rev+1 {
		t.Errorf("rev %d, want %d", next.Rev, d.Rev+1)
	}
	if _, err := st.Delivery(t.Context(), 999); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("unknown delivery: %v", err)
	}
}

func listsOfDeliveries(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	one, two, three := NewDelivery(t, st, a.ID), NewDelivery(t, st, a.ID), NewDelivery(t, st, a.ID)
	NewDelivery(t, st, NewAgent(t, st, nil).ID)
	two.State, two.Verdict = daemon.DeliveryDone, ptr(daemon.Submitted)
	Commit(t, st, &daemon.Change{Deliveries: []*daemon.Delivery{two}})
	equal(t, "all", idsOf(result(st.Deliveries(t.Context(), a.ID, 0, 0))(t)), []int64{three.ID, two.ID, one.ID})
	equal(t, "before, limit", idsOf(result(st.Deliveries(t.Context(), a.ID, three.ID, 1))(t)), []int64{two.ID})
	next := NewAgent(t, st, nil)
	three.AgentID, three.PassedFrom = next.ID, &a.ID
	Commit(t, st, &daemon.Change{Deliveries: []*daemon.Delivery{three}})
	equal(t, "passed on", idsOf(result(st.Deliveries(t.Context(), a.ID, 0, 0))(t)), []int64{three.ID, two.ID, one.ID})
	equal(t, "of the successor", idsOf(result(st.OpenDeliveries(t.Context(), next.ID))(t)), []int64{three.ID})
	equal(t, "open", idsOf(result(st.OpenDeliveries(t.Context(), a.ID))(t)), []int64{one.ID})
}

func dropQueued(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	queued, typed, given := NewDelivery(t, st, a.ID), NewDelivery(t, st, a.ID), NewDelivery(t, st, a.ID)
	others := NewDelivery(t, st, NewAgent(t, st, nil).ID)
	typed.State, given.State = daemon.DeliveryTyped, daemon.DeliveryTyping
	Commit(t, st, &daemon.Change{Deliveries: []*daemon.Delivery{typed}})
	fresh := ADelivery(t, st, a.ID)
	Commit(t, st, &daemon.Change{
		DropQueued: a.ID, DropEvidence: daemon.EvidenceRecorded,
		Deliveries: []*daemon.Delivery{given}, NewDeliveries: []*daemon.Delivery{fresh},
	})
	for _, d := range []*daemon.Delivery{typed, given, fresh, others} {
		equal(t, "left alone", result(st.Delivery(t.Context(), d.ID))(t), *d)
	}
	got := result(st.Delivery(t.Context(), queued.ID))(t)
	if got.State != daemon.DeliveryDone || got.Verdict == nil || *got.Verdict != daemon.NotSubmitted ||
		got.Evidence != "the agent's handoff was recorded" || got.EvidenceCode != daemon.EvidenceRecorded || got.DecidedAt == nil || got.Rev != queued.Rev+1 {
		t.Errorf("dropped: %+v", got)
	}
	if err := st.Commit(t.Context(), &daemon.Change{Deliveries: []*daemon.Delivery{queued}}); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("a dropped delivery was written: %v", err)
	}
}

// messagesAreSpared: a message stays queued for the successor of its agent, and a command does not.
func messagesAreSpared(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	message, command := NewDelivery(t, st, a.ID), ADelivery(t, st, a.ID)
	command.Kind = daemon.KindCommand
	Commit(t, st, &daemon.Change{NewDeliveries: []*daemon.Delivery{command}})
	Commit(t, st, &daemon.Change{DropQueued: a.ID, DropEvidence: daemon.EvidenceRecorded, SpareMessages: true})
	equal(t, "left alone", result(st.Delivery(t.Context(), message.ID))(t), *message)
	equal(t, "open", idsOf(result(st.OpenDeliveries(t.Context(), a.ID))(t)), []int64{message.ID})
}

// sentIsCounted: the store counts an agent's messages by the event log, because only the log has the sender of
// a delivery.
func sentIsCounted(t *testing.T, st daemon.Store) {
	from, to := NewAgent(t, st, nil), NewAgent(t, st, nil)
	sent := func(by *daemon.Agent, d *daemon.Delivery, ago time.Duration, typ event.Type) *event.Event {
		return &event.Event{
			Type: typ, Host: "h1", At: now().Add(-ago), AgentID: &by.ID, Payload: fmt.Appendf(nil, `{"delivery_id": %d}`, d.ID),
		}
	}
	equal(t, "nothing", result(st.Sent(t.Context(), from.ID, now()))(t), daemon.Sent{})
	done, open, old := NewDelivery(t, st, to.ID), NewDelivery(t, st, to.ID), NewDelivery(t, st, to.ID)
	done.State, done.Verdict = daemon.DeliveryDone, ptr(daemon.Submitted)
	first, second := sent(from, done, 5*time.Minute, "agent_messaged"), sent(from, open, 4*time.Minute, "agent_messaged")
	Commit(t, st, &daemon.Change{Deliveries: []*daemon.Delivery{done}, Events: []*event.Event{
		second, first, sent(from, old, time.Hour, "agent_messaged"),
		sent(to, open, time.Minute, "agent_messaged"), sent(from, open, time.Minute, "delivery_queued"),
		{Type: "agent_messaged", Host: "h1", At: now().Add(-time.Hour), AgentID: &from.ID},
	}})
	got := result(st.Sent(t.Context(), from.ID, now().Add(-10*time.Minute)))(t)
	equal(t, "sent", got, daemon.Sent{Open: 2, Recent: 2, First: &first.At})
	got = result(st.Sent(t.Context(), from.ID, first.At))(t)
	equal(t, "sent after that moment", got, daemon.Sent{Open: 2, Recent: 1, First: &second.At})
}
