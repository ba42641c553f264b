package db

import (
	"errors"
	"reflect"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

func TestDeliveryIsKeptWhole(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, nil)
	h := newHandoff(t, db, a.ID)
	whole := func(id int64) *daemon.Delivery {
		var d daemon.Delivery
		fill(reflect.ValueOf(&d).Elem())
		d.ID, d.AgentID, d.HandoffID = id, a.ID, &h.ID
		d.Kind, d.State, d.Verdict = daemon.KindPrompt, daemon.DeliveryDone, ptr(daemon.Unconfirmed)
		return &d
	}
	d := whole(nextOf(t, db, daemon.DeliveryIDs))
	commit(t, db, &daemon.Change{NewDeliveries: []*daemon.Delivery{d}})
	got, err := db.Delivery(t.Context(), d.ID)
	equal(t, "inserted", must(t, got, err), *d)

	next := whole(d.ID)
	next.Rev = d.Rev
	commit(t, db, &daemon.Change{Deliveries: []*daemon.Delivery{next}})
	got, err = db.Delivery(t.Context(), d.ID)
	equal(t, "updated", must(t, got, err), *next)
	if next.Rev != d.Rev+1 {
		t.Errorf("rev %d, want %d", next.Rev, d.Rev+1)
	}
	if _, err := db.Delivery(t.Context(), 999); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("unknown delivery: %v", err)
	}
}

func TestListsOfDeliveries(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, nil)
	one, two, three := newDelivery(t, db, a.ID), newDelivery(t, db, a.ID), newDelivery(t, db, a.ID)
	newDelivery(t, db, newAgent(t, db, nil).ID)
	two.State, two.Verdict = daemon.DeliveryDone, ptr(daemon.Submitted)
	commit(t, db, &daemon.Change{Deliveries: []*daemon.Delivery{two}})
	ids := func(all []daemon.Delivery, err error) (ids []int64) {
		for _, d := range must(t, all, err) {
			ids = append(ids, d.ID)
		}
		return ids
	}
	equal(t, "all", ids(db.Deliveries(t.Context(), a.ID, 0, 0)), []int64{three.ID, two.ID, one.ID})
	equal(t, "before, limit", ids(db.Deliveries(t.Context(), a.ID, three.ID, 1)), []int64{two.ID})
	equal(t, "open", ids(db.OpenDeliveries(t.Context(), a.ID)), []int64{one.ID, three.ID})
}

func TestDropQueued(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, nil)
	queued, typed, given := newDelivery(t, db, a.ID), newDelivery(t, db, a.ID), newDelivery(t, db, a.ID)
	others := newDelivery(t, db, newAgent(t, db, nil).ID)
	typed.State, given.State = daemon.DeliveryTyped, daemon.DeliveryTyping
	commit(t, db, &daemon.Change{Deliveries: []*daemon.Delivery{typed}})
	fresh := aDelivery(t, db, a.ID)
	commit(t, db, &daemon.Change{
		DropQueued: a.ID, DropEvidence: "recorded\x00",
		Deliveries: []*daemon.Delivery{given}, NewDeliveries: []*daemon.Delivery{fresh},
	})
	for _, d := range []*daemon.Delivery{typed, given, fresh, others} {
		got, err := db.Delivery(t.Context(), d.ID)
		equal(t, "left alone", must(t, got, err), *d)
	}
	got, err := db.Delivery(t.Context(), queued.ID)
	must(t, got, err)
	if got.State != daemon.DeliveryDone || got.Verdict == nil || *got.Verdict != daemon.NotSubmitted ||
		got.Evidence != "recorded\uFFFD" || got.DecidedAt == nil || got.Rev != queued.Rev+1 {
		t.Errorf("dropped: %+v", got)
	}
	if err := db.Commit(t.Context(), &daemon.Change{Deliveries: []*daemon.Delivery{queued}}); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("a dropped delivery was written: %v", err)
	}
}
