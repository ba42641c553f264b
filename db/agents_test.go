package db

import (
	"errors"
	"reflect"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// wholeAgent is an agent in which no field is empty.
func wholeAgent(t testing.TB, db *DB) *daemon.Agent {
	t.Helper()
	before := newAgent(t, db, nil)
	var a daemon.Agent
	fill(reflect.ValueOf(&a).Elem())
	a.ID, a.PreviousAgentID, a.SuccessorID = nextOf(t, db, daemon.AgentIDs), &before.ID, nil
	a.State, a.StopStage = daemon.Ended, daemon.StopKill
	run := newRun(t, db, 1, nil)
	a.PipelineID, a.StepID = &run.ID, &run.Steps[0].ID
	return &a
}

func TestAgentIsKeptWhole(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := wholeAgent(t, db)
	commit(t, db, &daemon.Change{NewAgent: a})
	got, err := db.Agent(t.Context(), a.ID)
	equal(t, "inserted", must(t, got, err), *a)

	b := wholeAgent(t, db)
	b.ID, b.Rev = a.ID, a.Rev
	commit(t, db, &daemon.Change{Agents: []*daemon.Agent{b}})
	if b.Rev != a.Rev+1 {
		t.Errorf("rev %d, want %d", b.Rev, a.Rev+1)
	}
	got, err = db.Agent(t.Context(), a.ID)
	equal(t, "updated", must(t, got, err), *b)

	empty := newAgent(t, db, nil)
	got, err = db.Agent(t.Context(), empty.ID)
	empty.Options = []string{}
	equal(t, "empty", must(t, got, err), *empty)
}

func TestAgentSuccessorIsTheNewest(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, nil)
	for range 2 {
		last := newAgent(t, db, func(b *daemon.Agent) { b.PreviousAgentID = &a.ID })
		got, err := db.Agent(t.Context(), a.ID)
		if must(t, got, err).SuccessorID == nil || *got.SuccessorID != last.ID {
			t.Errorf("successor %v, want %d", got.SuccessorID, last.ID)
		}
	}
}

func TestUnknownAgent(t *testing.T) {
	t.Parallel()
	db := open(t)
	if _, err := db.Agent(t.Context(), 9); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("agent: %v", err)
	}
	for _, hash := range [][]byte{nil, {}, []byte("no")} {
		newAgent(t, db, func(a *daemon.Agent) { a.LaunchHash = []byte{} })
		if _, err := db.AgentByLaunch(t.Context(), hash); !errors.Is(err, daemon.ErrNotFound) {
			t.Errorf("agent by launch %q: %v", hash, err)
		}
	}
	a := newAgent(t, db, func(a *daemon.Agent) { a.LaunchHash = []byte("hash") })
	if got, err := db.AgentByLaunch(t.Context(), []byte("hash")); err != nil || got.ID != a.ID {
		t.Errorf("agent by launch: %d, %v", got.ID, err)
	}
}

func TestListOfAgents(t *testing.T) {
	t.Parallel()
	db := open(t)
	one := newAgent(t, db, func(a *daemon.Agent) { a.Persona = ptr("p") })
	two := newAgent(t, db, func(a *daemon.Agent) { a.Host, a.PreviousAgentID = "h2", &one.ID })
	three := newAgent(t, db, func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, ptr(now()) })
	for name, tt := range map[string]struct {
		filter daemon.AgentFilter
		want   []int64
	}{
		"all":      {daemon.AgentFilter{}, []int64{three.ID, two.ID, one.ID}},
		"state":    {daemon.AgentFilter{State: daemon.Ended}, []int64{three.ID}},
		"persona":  {daemon.AgentFilter{Persona: "p"}, []int64{one.ID}},
		"host":     {daemon.AgentFilter{Host: "h1"}, []int64{three.ID, one.ID}},
		"active":   {daemon.AgentFilter{Active: true}, []int64{two.ID, one.ID}},
		"before":   {daemon.AgentFilter{Before: two.ID}, []int64{one.ID}},
		"limit":    {daemon.AgentFilter{Limit: 1}, []int64{three.ID}},
		"previous": {daemon.AgentFilter{Previous: one.ID}, []int64{two.ID}},
		"none":     {daemon.AgentFilter{Persona: "x\x00"}, []int64{}},
	} {
		agents, err := db.Agents(t.Context(), tt.filter)
		ids := []int64{}
		for _, a := range must(t, agents, err) {
			ids = append(ids, a.ID)
		}
		equal(t, name, ids, tt.want)
	}
}

func TestOpenAgents(t *testing.T) {
	t.Parallel()
	db := open(t)
	ended := func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, ptr(now()) }
	newAgent(t, db, nil)   // nothing to do
	newAgent(t, db, ended) // nothing more to do
	newAgent(t, db, func(a *daemon.Agent) { a.State, a.Host = daemon.Starting, "h2" })
	starting := newAgent(t, db, func(a *daemon.Agent) { a.State = daemon.Starting })
	stopping := newAgent(t, db, func(a *daemon.Agent) { a.StopAskedAt = ptr(now()) })
	newAgent(t, db, func(a *daemon.Agent) { ended(a); a.StopAskedAt = ptr(now()) })
	handsOver := newAgent(t, db, ended)
	h := newHandoff(t, db, handsOver.ID)
	told := newAgent(t, db, nil)
	d := newDelivery(t, db, told.ID)

	ids, err := db.OpenAgents(t.Context(), "h1")
	equal(t, "open", must(t, ids, err), []int64{starting.ID, stopping.ID, handsOver.ID, told.ID})

	d.State, d.Verdict = daemon.DeliveryDone, ptr(daemon.Submitted)
	commit(t, db, &daemon.Change{Deliveries: []*daemon.Delivery{d}})
	commit(t, db, moved(h, daemon.Cancelled))
	ids, err = db.OpenAgents(t.Context(), "h1")
	equal(t, "less is open", must(t, ids, err), []int64{starting.ID, stopping.ID})
	ids, err = db.OpenAgents(t.Context(), "h3")
	equal(t, "another host", must(t, ids, err), []int64{})
}

func TestNextID(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, kind := range []daemon.IDKind{
		daemon.AgentIDs, daemon.HandoffIDs, daemon.DeliveryIDs, daemon.PipelineIDs, daemon.StepIDs, daemon.OutputIDs,
	} {
		if a, b := nextOf(t, db, kind), nextOf(t, db, kind); a <= 0 || b <= a {
			t.Errorf("%s: %d, then %d", kind, a, b)
		}
	}
	if _, err := db.NextID(t.Context(), "hosts"); err == nil {
		t.Error("an unknown kind has ids")
	}
}
