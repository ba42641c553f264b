package storetest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// WholeAgent returns an agent in which no field is empty, not committed.
func WholeAgent(t testing.TB, st daemon.Store) *daemon.Agent {
	t.Helper()
	before := NewAgent(t, st, nil)
	var a daemon.Agent
	fill(reflect.ValueOf(&a).Elem())
	a.ID, a.PreviousAgentID, a.SuccessorID = nextOf(t, st, daemon.AgentIDs), &before.ID, nil
	a.State, a.StopStage = daemon.Ended, daemon.StopKill
	a.Note = a.Hold.Words()
	run := NewPipeline(t, st, 1, nil)
	a.PipelineID, a.StepID = &run.ID, &run.Steps[0].ID
	a.WorktreeID = &newWorktree(t, st, nil).ID
	return &a
}

func agentIsKeptWhole(t *testing.T, st daemon.Store) {
	a := WholeAgent(t, st)
	Commit(t, st, &daemon.Change{NewAgent: a})
	equal(t, "inserted", result(st.Agent(t.Context(), a.ID))(t), *a)

	b := WholeAgent(t, st)
	b.ID, b.Rev = a.ID, a.Rev
	Commit(t, st, &daemon.Change{Agents: []*daemon.Agent{b}})
	if b.Rev != a.Rev+1 {
		t.Errorf("rev %d, want %d", b.Rev, a.Rev+1)
	}
	equal(t, "updated", result(st.Agent(t.Context(), a.ID))(t), *b)

	empty := NewAgent(t, st, nil)
	empty.Options, empty.AllowRules, empty.Args = []string{}, []string{}, []string{}
	equal(t, "empty", result(st.Agent(t.Context(), empty.ID))(t), *empty)
}

func agentSuccessorIsTheNewest(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, nil)
	for range 2 {
		last := NewAgent(t, st, func(b *daemon.Agent) { b.PreviousAgentID = &a.ID })
		got := result(st.Agent(t.Context(), a.ID))(t)
		if got.SuccessorID == nil || *got.SuccessorID != last.ID {
			t.Errorf("successor %v, want %d", got.SuccessorID, last.ID)
		}
	}
}

func unknownAgent(t *testing.T, st daemon.Store) {
	if _, err := st.Agent(t.Context(), 9); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("agent: %v", err)
	}
	for _, hash := range [][]byte{nil, {}, []byte("no")} {
		NewAgent(t, st, func(a *daemon.Agent) { a.LaunchHash = []byte{} })
		if _, err := st.AgentByLaunch(t.Context(), hash); !errors.Is(err, daemon.ErrNotFound) {
			t.Errorf("agent by launch %q: %v", hash, err)
		}
	}
	a := NewAgent(t, st, func(a *daemon.Agent) { a.LaunchHash = []byte("hash") })
	if got, err := st.AgentByLaunch(t.Context(), []byte("hash")); err != nil || got.ID != a.ID {
		t.Errorf("agent by launch: %d, %v", got.ID, err)
	}
}

func listAgents(t *testing.T, st daemon.Store) {
	one := NewAgent(t, st, func(a *daemon.Agent) { a.Persona = ptr("p\x00") })
	two := NewAgent(t, st, func(a *daemon.Agent) { a.Host, a.PreviousAgentID = "h2", &one.ID })
	three := NewAgent(t, st, func(a *daemon.Agent) { a.State, a.EndedAt, a.EndCause = daemon.Ended, ptr(now()), "tmux" })
	for name, tt := range map[string]struct {
		filter daemon.AgentFilter
		want   []int64
	}{
		"all":      {daemon.AgentFilter{}, []int64{three.ID, two.ID, one.ID}},
		"state":    {daemon.AgentFilter{State: daemon.Ended}, []int64{three.ID}},
		"persona":  {daemon.AgentFilter{Persona: "p\x00"}, []int64{one.ID}},
		"host":     {daemon.AgentFilter{Host: "h1"}, []int64{three.ID, one.ID}},
		"active":   {daemon.AgentFilter{Active: true}, []int64{two.ID, one.ID}},
		"before":   {daemon.AgentFilter{Before: two.ID}, []int64{one.ID}},
		"limit":    {daemon.AgentFilter{Limit: 1}, []int64{three.ID}},
		"previous": {daemon.AgentFilter{Previous: one.ID}, []int64{two.ID}},
		"cause":    {daemon.AgentFilter{EndCause: "tmux"}, []int64{three.ID}},
		"both":     {daemon.AgentFilter{Active: true, Host: "h1"}, []int64{one.ID}},
		"none":     {daemon.AgentFilter{Persona: "x\x00"}, []int64{}},
	} {
		equal(t, name, idsOf(result(st.Agents(t.Context(), tt.filter))(t)), tt.want)
	}
}

func openAgents(t *testing.T, st daemon.Store) {
	ended := func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, ptr(now()) }
	NewAgent(t, st, nil)   // has nothing to do
	NewAgent(t, st, ended) // has nothing to do any more
	NewAgent(t, st, func(a *daemon.Agent) { a.State, a.Host = daemon.Starting, "h2" })
	starting := NewAgent(t, st, func(a *daemon.Agent) { a.State = daemon.Starting })
	stopping := NewAgent(t, st, func(a *daemon.Agent) { a.StopAskedAt = ptr(now()) })
	NewAgent(t, st, func(a *daemon.Agent) { ended(a); a.StopAskedAt = ptr(now()) })
	undecided := NewAgent(t, st, func(a *daemon.Agent) { ended(a); a.Reading = true })
	NewAgent(t, st, func(a *daemon.Agent) { a.Reading = true }) // its hooks wake its lane
	handsOver := NewAgent(t, st, ended)
	h := NewHandoff(t, st, handsOver.ID)
	told := NewAgent(t, st, nil)
	d := NewDelivery(t, st, told.ID)

	equal(t, "open", result(st.Open(t.Context(), "h1"))(t).Agents, []int64{starting.ID, stopping.ID, undecided.ID, handsOver.ID, told.ID})

	d.State, d.Verdict = daemon.DeliveryDone, ptr(daemon.Submitted)
	Commit(t, st, &daemon.Change{Deliveries: []*daemon.Delivery{d}})
	Commit(t, st, Moved(h, daemon.Cancelled))
	undecided.Reading = false
	Commit(t, st, &daemon.Change{Agents: []*daemon.Agent{undecided}})
	equal(t, "less is open", result(st.Open(t.Context(), "h1"))(t).Agents, []int64{starting.ID, stopping.ID})
	equal(t, "another host", result(st.Open(t.Context(), "h3"))(t).Agents, []int64{})
}

func activeAgents(t *testing.T, st daemon.Store) {
	first := NewAgent(t, st, nil)
	NewAgent(t, st, func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, ptr(now()) })
	other := NewAgent(t, st, func(a *daemon.Agent) { a.Host = "h2" })
	second := NewAgent(t, st, func(a *daemon.Agent) { a.PreviousAgentID = &first.ID })
	first.State = daemon.Working
	Commit(t, st, &daemon.Change{Agents: []*daemon.Agent{first}})
	equal(t, "active", result(st.ActiveAgents(t.Context(), "h1"))(t), []daemon.AgentRev{{ID: first.ID, Rev: first.Rev}, {ID: second.ID, Rev: second.Rev}})
	equal(t, "another host", result(st.ActiveAgents(t.Context(), "h3"))(t), []daemon.AgentRev{})

	want := []daemon.Agent{result(st.Agent(t.Context(), first.ID))(t), result(st.Agent(t.Context(), other.ID))(t)}
	equal(t, "by id", result(st.AgentsByID(t.Context(), []int64{other.ID, first.ID, 1 << 40}))(t), want)
	equal(t, "none", result(st.AgentsByID(t.Context(), nil))(t), []daemon.Agent{})
}

func nextID(t *testing.T, st daemon.Store) {
	for _, kind := range []daemon.IDKind{
		daemon.AgentIDs, daemon.HandoffIDs, daemon.DeliveryIDs, daemon.PipelineIDs, daemon.StepIDs, daemon.OutputIDs, daemon.WorktreeIDs,
	} {
		if a, b := nextOf(t, st, kind), nextOf(t, st, kind); a <= 0 || b <= a {
			t.Errorf("%s: %d, then %d", kind, a, b)
		}
	}
	if _, err := st.NextID(t.Context(), "hosts"); err == nil {
		t.Error("an unknown kind has ids")
	}
}

// agentsByTheirEnds: with Lately the store lists ended agents alone, and of the rest of the filter it heeds
// only the limit.
func agentsByTheirEnds(t *testing.T, st daemon.Store) {
	ended := func(ago time.Duration, host string) int64 {
		return NewAgent(t, st, func(a *daemon.Agent) { a.Host, a.State, a.EndedAt = host, daemon.Ended, ptr(now().Add(-ago)) }).ID
	}
	last, first, middle := ended(time.Minute, "h1"), ended(time.Hour, "h2"), ended(time.Minute*2, "h1")
	NewAgent(t, st, nil)
	same := NewAgent(t, st, func(a *daemon.Agent) {
		a.State, a.EndedAt = daemon.Ended, result(st.Agent(t.Context(), last))(t).EndedAt
	}).ID
	for limit, want := range map[int][]int64{0: {same, last, middle, first}, 2: {same, last}} {
		var ids []int64
		for _, a := range result(st.Agents(t.Context(), daemon.AgentFilter{Lately: true, Host: "h1", Active: true, Before: 1, Limit: limit}))(t) {
			ids = append(ids, a.ID)
		}
		equal(t, "by their ends", ids, want)
	}
}

func listsHaveALimit(t *testing.T, st daemon.Store) {
	c := &daemon.Change{}
	first := NewAgent(t, st, nil)
	for range 101 {
		c.NewDeliveries = append(c.NewDeliveries, ADelivery(t, st, first.ID))
	}
	for range 501 {
		c.Events = append(c.Events, &event.Event{Type: "t", Host: "h1", Alert: true})
	}
	Commit(t, st, c)
	for name, n := range map[string][2]int{
		"deliveries":      {len(result(st.Deliveries(t.Context(), first.ID, 0, 0))(t)), 100},
		"open deliveries": {len(result(st.OpenDeliveries(t.Context(), first.ID))(t)), 101},
		"events":          {len(result(st.Events(t.Context(), event.Filter{}))(t)), 500},
		"audit":           {len(result(st.Audit(t.Context(), daemon.AuditFilter{}))(t)), 100},
		"pending alerts":  {len(result(st.PendingAlerts(t.Context(), "h1", 0))(t)), 100},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %d, want %d", name, n[0], n[1])
		}
	}
}
