package storetest

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// WholeHandoff returns a handoff in which no field is empty, not committed.
func WholeHandoff(t testing.TB, st daemon.Store) *daemon.Handoff {
	t.Helper()
	a, b := NewAgent(t, st, nil), NewAgent(t, st, nil)
	var h daemon.Handoff
	fill(reflect.ValueOf(&h).Elem())
	h.ID, h.AgentID, h.SuccessorID = nextOf(t, st, daemon.HandoffIDs), a.ID, &b.ID
	h.DeliveryID = &NewDelivery(t, st, b.ID).ID
	h.Phase, h.Status = daemon.Briefing, daemon.StatusInProgress
	h.Note = h.Hold.Words()
	h.ReadAt, h.UnreadAt = nil, nil // a store does not keep what is derived of the successors' rows
	for i := range h.Heirs {
		h.Heirs[i].ReadAt, h.Heirs[i].UnreadAt = nil, nil
		h.Heirs[i].Note = h.Heirs[i].Hold.Words()
		h.Heirs[i].AgentID, h.Heirs[i].Phase = &NewAgent(t, st, nil).ID, daemon.Briefing
	}
	return &h
}

func handoffIsKeptWhole(t *testing.T, st daemon.Store) {
	h := WholeHandoff(t, st)
	Commit(t, st, &daemon.Change{NewHandoff: h})
	equal(t, "inserted", result(st.Handoff(t.Context(), h.ID))(t), *h)

	next := WholeHandoff(t, st)
	next.ID, next.Seq, next.Phase = h.ID, h.Seq, daemon.Failed
	Commit(t, st, &daemon.Change{Move: &daemon.Move{Handoff: next, From: h.Phase, Cause: "c"}})
	if next.Seq != h.Seq+1 || next.Status != daemon.StatusFailed {
		t.Errorf("after the move: seq %d, status %s", next.Seq, next.Status)
	}
	equal(t, "moved", result(st.Handoff(t.Context(), h.ID))(t), *next)

	empty := NewHandoff(t, st, NewAgent(t, st, nil).ID)
	empty.Warnings, empty.Missing = []string{}, []string{}
	equal(t, "empty", result(st.Handoff(t.Context(), empty.ID))(t), *empty)

	if _, err := st.Handoff(t.Context(), 999); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("unknown handoff: %v", err)
	}
}

func statusFollowsThePhase(t *testing.T, st daemon.Store) {
	for phase, want := range map[daemon.Phase]daemon.Status{
		daemon.Requested: daemon.StatusPending, daemon.Instructing: daemon.StatusInProgress,
		daemon.AwaitingDocument: daemon.StatusInProgress, daemon.Generating: daemon.StatusInProgress,
		daemon.Verifying: daemon.StatusInProgress,
		daemon.Recorded:  daemon.StatusInProgress, daemon.BriefingHeirs: daemon.StatusInProgress, daemon.ShuttingDown: daemon.StatusInProgress,
		daemon.Spawning: daemon.StatusInProgress, daemon.AwaitingRegistration: daemon.StatusInProgress,
		daemon.InjectingSkill: daemon.StatusInProgress, daemon.Briefing: daemon.StatusInProgress,
		daemon.Completed: daemon.StatusCompleted, daemon.Failed: daemon.StatusFailed, daemon.Cancelled: daemon.StatusCancelled,
	} {
		h := NewHandoff(t, st, NewAgent(t, st, nil).ID)
		c := Moved(h, phase)
		Commit(t, st, c)
		if c.Move.Handoff.Status != want {
			t.Errorf("%s: %s, want %s", phase, c.Move.Handoff.Status, want)
		}
	}
}

func oneHandoffPerAgent(t *testing.T, st daemon.Store) {
	for _, tt := range []struct {
		name     string
		phase    daemon.Phase
		recorded bool
		keep     bool
		failedIn daemon.Phase
		want     error
	}{
		{"requested", daemon.Requested, false, false, "", daemon.ErrOpenHandoff},
		{"recorded", daemon.Recorded, true, false, "", daemon.ErrOpenHandoff},
		{"completed", daemon.Completed, true, false, "", daemon.ErrOpenHandoff},
		{"failed after the record", daemon.Failed, true, false, "", daemon.ErrOpenHandoff},
		{"failed before the record", daemon.Failed, false, false, "", nil},
		{"cancelled", daemon.Cancelled, false, false, "", nil},
		{"requested to keep the agent", daemon.Requested, false, true, "", daemon.ErrOpenHandoff},
		{"completed, the agent kept", daemon.Completed, true, true, "", nil},
		{"failed at the end, the agent kept", daemon.Failed, true, true, daemon.ShuttingDown, daemon.ErrOpenHandoff},
		{"failed with its heirs", daemon.Failed, true, false, daemon.BriefingHeirs, nil},
	} {
		a := NewAgent(t, st, nil)
		h := NewHandoff(t, st, a.ID)
		c := Moved(h, tt.phase)
		c.Move.Handoff.Keep = tt.keep
		if tt.failedIn != "" {
			c.Move.Handoff.Error = &daemon.Failure{Phase: tt.failedIn}
		}
		if tt.recorded {
			c.Move.Handoff.RecordedAt = ptr(now())
		}
		Commit(t, st, c)
		if err := st.Commit(t.Context(), &daemon.Change{NewHandoff: AHandoff(t, st, a.ID)}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func oneHandoffAmongManyRequests(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	var wg sync.WaitGroup
	errs := make([]error, 64)
	for i := range errs {
		h := AHandoff(t, st, a.ID)
		wg.Go(func() {
			errs[i] = st.Commit(t.Context(), &daemon.Change{NewHandoff: h, Events: []*event.Event{{Type: "handoff_started", Host: "h1"}}})
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
	if left := everything(t, st); won != 1 || len(left.Handoffs) != 1 || len(left.Events) != 1 {
		t.Errorf("%d requests won, %d handoffs, %d events", won, len(left.Handoffs), len(left.Events))
	}
}

func theRecordStandsFromRecordedOn(t *testing.T, st daemon.Store) {
	for _, phase := range []daemon.Phase{daemon.Recorded, daemon.ShuttingDown, daemon.Completed} {
		c := Moved(NewHandoff(t, st, NewAgent(t, st, nil).ID), phase)
		c.Move.Handoff.RecordedAt = nil
		if err := st.Commit(t.Context(), c); !violates(err, "handoffs_recorded") {
			t.Errorf("%s without a record: %v", phase, err)
		}
	}
	for _, phase := range []daemon.Phase{daemon.Generating, daemon.Cancelled} {
		c := Moved(NewHandoff(t, st, NewAgent(t, st, nil).ID), phase)
		c.Move.Handoff.RecordedAt = ptr(now())
		if err := st.Commit(t.Context(), c); !violates(err, "handoffs_recorded") {
			t.Errorf("%s with a record: %v", phase, err)
		}
	}
}

func transitionsAreTheChangesOfPhase(t *testing.T, st daemon.Store) {
	h := NewHandoff(t, st, NewAgent(t, st, nil).ID)
	c := Moved(h, daemon.Instructing)
	Commit(t, st, c)
	in := c.Move.Handoff
	in.Note = "the agent is in a turn"
	Commit(t, st, Moved(in, daemon.Instructing))
	in.Seq++
	c = Moved(in, daemon.Failed)
	Commit(t, st, c)
	equal(t, "transitions of an unknown handoff", result(st.Transitions(t.Context(), 999))(t), []daemon.Transition{})
	equal(t, "transitions", result(st.Transitions(t.Context(), h.ID))(t), []daemon.Transition{
		{HandoffID: h.ID, Seq: 1, From: daemon.Requested, To: daemon.Instructing, Cause: "test", At: in.PhaseAt},
		{HandoffID: h.ID, Seq: 3, From: daemon.Instructing, To: daemon.Failed, Cause: "test", At: c.Move.Handoff.PhaseAt},
	})
}

func listOfHandoffs(t *testing.T, st daemon.Store) {
	a, b := NewAgent(t, st, nil), NewAgent(t, st, nil)
	one := NewHandoff(t, st, a.ID)
	Commit(t, st, Moved(one, daemon.Cancelled))
	two := AHandoff(t, st, a.ID)
	two.SuccessorID, two.Persona, two.Host = &b.ID, "reviewer\x00", "h2"
	Commit(t, st, &daemon.Change{NewHandoff: two})
	for name, tt := range map[string]struct {
		filter daemon.HandoffFilter
		want   []int64
	}{
		"all":       {daemon.HandoffFilter{}, []int64{two.ID, one.ID}},
		"agent":     {daemon.HandoffFilter{AgentID: a.ID}, []int64{two.ID, one.ID}},
		"other":     {daemon.HandoffFilter{AgentID: b.ID}, []int64{}},
		"successor": {daemon.HandoffFilter{SuccessorID: b.ID}, []int64{two.ID}},
		"persona":   {daemon.HandoffFilter{Persona: one.Persona}, []int64{one.ID}},
		"NUL in it": {daemon.HandoffFilter{Persona: "reviewer\x00"}, []int64{two.ID}},
		"status":    {daemon.HandoffFilter{Status: daemon.StatusCancelled}, []int64{one.ID}},
		"host":      {daemon.HandoffFilter{Host: "h2"}, []int64{two.ID}},
		"open":      {daemon.HandoffFilter{Open: true}, []int64{two.ID}},
		"last":      {daemon.HandoffFilter{Last: true}, []int64{two.ID}},
		"last that": {daemon.HandoffFilter{Last: true, Status: daemon.StatusCancelled}, []int64{}},
		"before":    {daemon.HandoffFilter{Before: two.ID}, []int64{one.ID}},
		"limit":     {daemon.HandoffFilter{Limit: 1}, []int64{two.ID}},
	} {
		equal(t, name, idsOf(result(st.Handoffs(t.Context(), tt.filter))(t)), tt.want)
	}
}

// theOpenHandoffMeetsARetry: a handoff that failed before its record cannot be retried while its agent has a newer
// open one.
func theOpenHandoffMeetsARetry(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	c := Moved(NewHandoff(t, st, a.ID), daemon.Failed)
	Commit(t, st, c)
	failed := c.Move.Handoff
	newer := NewHandoff(t, st, a.ID)
	retry := Moved(failed, daemon.Instructing)
	retry.Events = []*event.Event{{Type: "t", Host: "h1"}}
	before := everything(t, st)
	if err := st.Commit(t.Context(), retry); !errors.Is(err, daemon.ErrOpenHandoff) {
		t.Errorf("retry beside a newer handoff: %v, want ErrOpenHandoff", err)
	}
	equal(t, "what can be read", everything(t, st), before)
	if retry.Move.Handoff.Seq != failed.Seq || retry.Move.Handoff.Status != failed.Status {
		t.Errorf("the handoff was advanced: %+v", retry.Move.Handoff)
	}
	Commit(t, st, Moved(newer, daemon.Cancelled))
	Commit(t, st, retry)
}

// heirsHaveRows: the heirs of a handoff are written with it, found by their agents, and are nobody else's.
func heirsHaveRows(t *testing.T, st daemon.Store) {
	a, b, c := NewAgent(t, st, nil), NewAgent(t, st, nil), NewAgent(t, st, nil)
	h := AHandoff(t, st, a.ID)
	h.Keep, h.Heirs = true, []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: "one\x00"}}, {Heir: daemon.Heir{Persona: "two", Model: "m"}}}
	Commit(t, st, &daemon.Change{NewHandoff: h})
	move := Moved(h, h.Phase)
	next := move.Move.Handoff
	next.Heirs = slices.Clone(h.Heirs)
	next.Heirs[0].AgentID, next.Heirs[0].Phase = &b.ID, daemon.Spawning
	next.Heirs[1].AgentID, next.Heirs[1].Phase = &c.ID, daemon.Failed
	next.Heirs[1].Error = &daemon.Failure{Phase: daemon.Briefing, Code: "c", Message: "m"}
	Commit(t, st, move)
	for _, heir := range []*daemon.Agent{b, c} {
		found := result(st.Handoffs(t.Context(), daemon.HandoffFilter{SuccessorID: heir.ID}))(t)
		if len(found) != 1 || found[0].ID != h.ID {
			t.Fatalf("found by its heir: %v", idsOf(found))
		}
		next.Heirs[0].Persona = found[0].Heirs[0].Persona // without NUL
		equal(t, "heirs", found[0].Heirs, next.Heirs)
	}
	other := AHandoff(t, st, NewAgent(t, st, nil).ID)
	for name, heir := range map[string]daemon.HandoffHeir{
		"handoff_heirs_agent":         {AgentID: &b.ID, Phase: daemon.Spawning},
		"handoff_heirs_agent_id_fkey": {AgentID: ptr(int64(999)), Phase: daemon.Spawning},
		"handoff_heirs_phase_known":   {Phase: daemon.Recorded},
	} {
		other.Heirs = []daemon.HandoffHeir{heir}
		if err := st.Commit(t.Context(), &daemon.Change{NewHandoff: other}); !violates(err, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stale := Moved(h, h.Phase)
	if err := st.Commit(t.Context(), stale); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("heirs of an outdated row: %v", err)
	}
	equal(t, "heirs after that", result(st.Handoff(t.Context(), h.ID))(t).Heirs, next.Heirs)
}

// aDocumentIsOneHandoffs: if two requests choose the same file, the second gets ErrMoved and chooses again.
func aDocumentIsOneHandoffs(t *testing.T, st daemon.Store) {
	first := NewHandoff(t, st, NewAgent(t, st, nil).ID)
	second := AHandoff(t, st, NewAgent(t, st, nil).ID)
	second.FilePath = first.FilePath
	if err := st.Commit(t.Context(), &daemon.Change{NewHandoff: second}); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("a document of two handoffs: %v, want ErrMoved", err)
	}
	second.FilePath += "-2"
	Commit(t, st, &daemon.Change{NewHandoff: second})
}
