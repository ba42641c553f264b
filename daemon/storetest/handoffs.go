package storetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// WholeHandoff returns a handoff in which no field is empty, not committed.
func WholeHandoff(t testing.TB, st daemon.Store) *daemon.Handoff {
	t.Helper()
	a, b := NewAgent(t, st, nil), NewAgent(t, st, nil)
	h := whole[daemon.Handoff]()
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
			c.Move.Handoff.RecordedAt = new(now())
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

// heirsAreNobodyElses: an agent is the heir of one handoff, and an outdated handoff does not change the heirs.
func heirsAreNobodyElses(t *testing.T, st daemon.Store) {
	heir := NewAgent(t, st, nil)
	h := NewHandoff(t, st, NewAgent(t, st, nil).ID)
	move := Moved(h, h.Phase)
	next := move.Move.Handoff
	next.Heirs = []daemon.HandoffHeir{{Heir: h.Heirs[0].Heir, AgentID: &heir.ID, Phase: daemon.Spawning}}
	Commit(t, st, move)
	other := AHandoff(t, st, NewAgent(t, st, nil).ID)
	for name, heir := range map[string]daemon.HandoffHeir{
		"handoff_heirs_agent":         {AgentID: &heir.ID, Phase: daemon.Spawning},
		"handoff_heirs_agent_id_fkey": {AgentID: new(int64(999)), Phase: daemon.Spawning},
		"handoff_heirs_phase_known":   {Phase: daemon.Recorded},
	} {
		other.Heirs = []daemon.HandoffHeir{heir}
		if err := st.Commit(t.Context(), &daemon.Change{NewHandoff: other}); !violates(err, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := st.Commit(t.Context(), Moved(h, h.Phase)); !errors.Is(err, daemon.ErrMoved) {
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
