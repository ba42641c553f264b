package db

import (
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

func wholeHandoff(t testing.TB, db *DB) *daemon.Handoff {
	t.Helper()
	a, b := newAgent(t, db, nil), newAgent(t, db, nil)
	var h daemon.Handoff
	fill(reflect.ValueOf(&h).Elem())
	h.ID, h.AgentID, h.SuccessorID = nextOf(t, db, daemon.HandoffIDs), a.ID, &b.ID
	h.DeliveryID = &newDelivery(t, db, b.ID).ID
	h.Phase, h.Status = daemon.Briefing, daemon.StatusInProgress
	return &h
}

func TestHandoffIsKeptWhole(t *testing.T) {
	t.Parallel()
	db := open(t)
	h := wholeHandoff(t, db)
	commit(t, db, &daemon.Change{NewHandoff: h})
	got, err := db.Handoff(t.Context(), h.ID)
	equal(t, "inserted", must(t, got, err), *h)

	next := wholeHandoff(t, db)
	next.ID, next.Seq, next.Phase = h.ID, h.Seq, daemon.Failed
	commit(t, db, &daemon.Change{Move: &daemon.Move{Handoff: next, From: h.Phase, Cause: "c"}})
	if next.Seq != h.Seq+1 || next.Status != daemon.StatusFailed {
		t.Errorf("after the move: seq %d, status %s", next.Seq, next.Status)
	}
	got, err = db.Handoff(t.Context(), h.ID)
	equal(t, "moved", must(t, got, err), *next)

	empty := newHandoff(t, db, newAgent(t, db, nil).ID)
	got, err = db.Handoff(t.Context(), empty.ID)
	empty.Warnings = []string{}
	equal(t, "empty", must(t, got, err), *empty)

	if _, err := db.Handoff(t.Context(), 999); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("unknown handoff: %v", err)
	}
}

func TestStatusFollowsThePhase(t *testing.T) {
	t.Parallel()
	db := open(t)
	for phase, want := range map[daemon.Phase]daemon.Status{
		daemon.Requested: daemon.StatusPending, daemon.Instructing: daemon.StatusInProgress,
		daemon.AwaitingDocument: daemon.StatusInProgress, daemon.Generating: daemon.StatusInProgress,
		daemon.Verifying: daemon.StatusInProgress,
		daemon.Recorded:  daemon.StatusInProgress, daemon.ShuttingDown: daemon.StatusInProgress,
		daemon.Spawning: daemon.StatusInProgress, daemon.AwaitingRegistration: daemon.StatusInProgress,
		daemon.InjectingSkill: daemon.StatusInProgress, daemon.Briefing: daemon.StatusInProgress,
		daemon.Completed: daemon.StatusCompleted, daemon.Failed: daemon.StatusFailed, daemon.Cancelled: daemon.StatusCancelled,
	} {
		h := newHandoff(t, db, newAgent(t, db, nil).ID)
		c := moved(h, phase)
		commit(t, db, c)
		if c.Move.Handoff.Status != want {
			t.Errorf("%s: %s, want %s", phase, c.Move.Handoff.Status, want)
		}
	}
}

func TestOneHandoffPerAgent(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, tt := range []struct {
		name     string
		phase    daemon.Phase
		recorded bool
		want     error
	}{
		{"requested", daemon.Requested, false, daemon.ErrOpenHandoff},
		{"recorded", daemon.Recorded, true, daemon.ErrOpenHandoff},
		{"completed", daemon.Completed, true, daemon.ErrOpenHandoff},
		{"failed after the record", daemon.Failed, true, daemon.ErrOpenHandoff},
		{"failed before the record", daemon.Failed, false, nil},
		{"cancelled", daemon.Cancelled, false, nil},
	} {
		a := newAgent(t, db, nil)
		h := newHandoff(t, db, a.ID)
		c := moved(h, tt.phase)
		if tt.recorded {
			c.Move.Handoff.RecordedAt = ptr(now())
		}
		commit(t, db, c)
		if err := db.Commit(t.Context(), &daemon.Change{NewHandoff: aHandoff(t, db, a.ID)}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestOneHandoffAmongManyRequests(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, nil)
	var wg sync.WaitGroup
	errs := make([]error, 64)
	for i := range errs {
		h := aHandoff(t, db, a.ID)
		wg.Go(func() {
			errs[i] = db.Commit(t.Context(), &daemon.Change{NewHandoff: h, Events: []*daemon.Event{{Type: "handoff_started", Host: "h1"}}})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, daemon.ErrOpenHandoff):
			t.Error(err)
		}
	}
	if won != 1 || rowCount(t, db, "handoffs") != 1 || rowCount(t, db, "events") != 1 {
		t.Errorf("%d requests won, %d handoffs, %d events", won, rowCount(t, db, "handoffs"), rowCount(t, db, "events"))
	}
}

func TestTheRecordStandsFromRecordedOn(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, phase := range []daemon.Phase{daemon.Recorded, daemon.ShuttingDown, daemon.Completed} {
		c := moved(newHandoff(t, db, newAgent(t, db, nil).ID), phase)
		c.Move.Handoff.RecordedAt = nil
		if err := db.Commit(t.Context(), c); !violates(err, "handoffs_recorded") {
			t.Errorf("%s without a record: %v", phase, err)
		}
	}
	for _, phase := range []daemon.Phase{daemon.Generating, daemon.Cancelled} {
		c := moved(newHandoff(t, db, newAgent(t, db, nil).ID), phase)
		c.Move.Handoff.RecordedAt = ptr(now())
		if err := db.Commit(t.Context(), c); !violates(err, "handoffs_recorded") {
			t.Errorf("%s with a record: %v", phase, err)
		}
	}
}

func TestTransitionsAreTheChangesOfPhase(t *testing.T) {
	t.Parallel()
	db := open(t)
	h := newHandoff(t, db, newAgent(t, db, nil).ID)
	c := moved(h, daemon.Instructing)
	commit(t, db, c)
	in := c.Move.Handoff
	in.Note = "the agent is in a turn"
	commit(t, db, moved(in, daemon.Instructing))
	in.Seq++
	c = moved(in, daemon.Failed)
	commit(t, db, c)
	all, err := db.Transitions(t.Context(), h.ID)
	equal(t, "transitions", must(t, all, err), []daemon.Transition{
		{HandoffID: h.ID, Seq: 1, From: daemon.Requested, To: daemon.Instructing, Cause: "test", At: in.PhaseAt},
		{HandoffID: h.ID, Seq: 3, From: daemon.Instructing, To: daemon.Failed, Cause: "test", At: c.Move.Handoff.PhaseAt},
	})
}

func TestListOfHandoffs(t *testing.T) {
	t.Parallel()
	db := open(t)
	a, b := newAgent(t, db, nil), newAgent(t, db, nil)
	one := newHandoff(t, db, a.ID)
	commit(t, db, moved(one, daemon.Cancelled))
	two := aHandoff(t, db, a.ID)
	two.SuccessorID, two.Persona, two.Host = &b.ID, "reviewer-eve-1", "h2"
	commit(t, db, &daemon.Change{NewHandoff: two})
	for name, tt := range map[string]struct {
		filter daemon.HandoffFilter
		want   []int64
	}{
		"all":       {daemon.HandoffFilter{}, []int64{two.ID, one.ID}},
		"agent":     {daemon.HandoffFilter{AgentID: a.ID}, []int64{two.ID, one.ID}},
		"other":     {daemon.HandoffFilter{AgentID: b.ID}, []int64{}},
		"successor": {daemon.HandoffFilter{SuccessorID: b.ID}, []int64{two.ID}},
		"persona":   {daemon.HandoffFilter{Persona: one.Persona}, []int64{one.ID}},
		"status":    {daemon.HandoffFilter{Status: daemon.StatusCancelled}, []int64{one.ID}},
		"host":      {daemon.HandoffFilter{Host: "h2"}, []int64{two.ID}},
		"open":      {daemon.HandoffFilter{Open: true}, []int64{two.ID}},
		"before":    {daemon.HandoffFilter{Before: two.ID}, []int64{one.ID}},
		"limit":     {daemon.HandoffFilter{Limit: 1}, []int64{two.ID}},
	} {
		handoffs, err := db.Handoffs(t.Context(), tt.filter)
		ids := []int64{}
		for _, h := range must(t, handoffs, err) {
			ids = append(ids, h.ID)
		}
		equal(t, name, ids, tt.want)
	}
}

// TestStructuredIsStoredWithoutNulls reads the column as it is, for those who query it themselves.
func TestStructuredIsStoredWithoutNulls(t *testing.T) {
	t.Parallel()
	db := open(t)
	h := aHandoff(t, db, newAgent(t, db, nil).ID)
	h.Structured = &daemon.Structured{DecisionsMade: ptr("null"), OpenQuestions: ptr("")}
	raw := func() (text *string) {
		if err := db.pool.QueryRow(t.Context(), "SELECT structured::text FROM handoffs WHERE id = $1", h.ID).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	commit(t, db, &daemon.Change{NewHandoff: h})
	equal(t, "inserted", raw(), ptr(`{"decisions_made": "null", "open_questions": ""}`))
	got, err := db.Handoff(t.Context(), h.ID)
	equal(t, "read", must(t, got, err).Structured, h.Structured)

	c := moved(h, daemon.Instructing)
	c.Move.Handoff.Structured = &daemon.Structured{}
	commit(t, db, c)
	equal(t, "updated", raw(), ptr(`{}`))
	c = moved(c.Move.Handoff, daemon.AwaitingDocument)
	c.Move.Handoff.Structured = nil
	commit(t, db, c)
	equal(t, "none", raw(), (*string)(nil))
}
