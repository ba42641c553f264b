package storetest

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// samplesAreKept: of one moment one sample is kept, a span has the newest and the last one before it, and old samples are
// pruned, as those of a deleted agent are.
func samplesAreKept(t *testing.T, st daemon.Store) {
	ctx := t.Context()
	begin := now().Add(-time.Hour)
	ended := now()
	a, b := NewAgent(t, st, nil), NewAgent(t, st, func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, &ended })
	at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
	sample := func(a *daemon.Agent, minutes int) daemon.ContextSample {
		return daemon.ContextSample{AgentID: a.ID, At: at(minutes), Tokens: int64(minutes), Percent: ptr(float64(minutes) / 7)}
	}
	twice := sample(a, 20)
	twice.Tokens = 999
	unknown := daemon.ContextSample{AgentID: b.ID, At: at(5), Tokens: 5}
	Commit(t, st, &daemon.Change{Samples: []daemon.ContextSample{sample(a, 30), sample(a, 10), sample(a, 20), unknown}})
	Commit(t, st, &daemon.Change{Samples: []daemon.ContextSample{twice, sample(a, 40)}})
	span := func(since, until, each int) []daemon.ContextSample {
		t.Helper()
		return result(st.ContextSamples(ctx, daemon.SpanQuery{AgentIDs: []int64{b.ID, a.ID}, Since: at(since), Until: at(until), Each: each}))(t)
	}
	equal(t, "all", span(0, 60, 0), []daemon.ContextSample{sample(a, 10), sample(a, 20), sample(a, 30), sample(a, 40), unknown})
	equal(t, "a span", span(20, 40, 0), []daemon.ContextSample{sample(a, 10), sample(a, 20), sample(a, 30), unknown})
	equal(t, "the newest", span(20, 60, 1), []daemon.ContextSample{sample(a, 10), sample(a, 40), unknown})
	if err := st.Commit(ctx, &daemon.Change{Samples: []daemon.ContextSample{{AgentID: 4711, At: begin}}}); !violates(err, "context_samples_agent_id_fkey") {
		t.Errorf("of an unknown agent: %v", err)
	}

	equal(t, "pruned", result(st.PruneSamples(ctx, daemon.PruneLimits{Before: at(20), Max: 1}))(t), daemon.Pruned{Rows: 1, Newest: ptr(at(5))})
	equal(t, "pruned again", result(st.PruneSamples(ctx, daemon.PruneLimits{Before: at(20)}))(t), daemon.Pruned{Rows: 1, Newest: ptr(at(10))})
	equal(t, "pruned by number", result(st.PruneSamples(ctx, daemon.PruneLimits{Rows: 1}))(t), daemon.Pruned{})
	equal(t, "the rest", span(0, 60, 0), []daemon.ContextSample{sample(a, 20), sample(a, 30), sample(a, 40)})
	Commit(t, st, &daemon.Change{Samples: []daemon.ContextSample{unknown}})
	if done := result(st.PruneHistory(ctx, now().Add(time.Hour), 0))(t); done.Agents != 1 {
		t.Fatalf("pruned %+v", done)
	}
	equal(t, "of the deleted agent", result(st.ContextSamples(ctx, daemon.SpanQuery{AgentIDs: []int64{b.ID}, Until: at(60)}))(t), []daemon.ContextSample{})
}

// statesOfAgents: the changes of states come from the event log, in the order of their times, each with the last one before.
func statesOfAgents(t *testing.T, st daemon.Store) {
	begin := now().Add(-time.Hour)
	a, b := NewAgent(t, st, nil), NewAgent(t, st, nil)
	at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
	tell := func(a *daemon.Agent, minutes int, typ event.Type) {
		t.Helper()
		Commit(t, st, &daemon.Change{Events: []*event.Event{{Type: typ, Host: "h1", AgentID: &a.ID, At: at(minutes)}}})
	}
	is := func(a *daemon.Agent, minutes int, state daemon.AgentState) daemon.StateChange {
		return daemon.StateChange{AgentID: a.ID, State: state, At: at(minutes)}
	}
	tell(b, 3, event.AgentLimited)
	tell(a, 1, event.AgentCreated)
	tell(a, 9, event.AgentWaiting)
	tell(a, 4, event.AgentWorking) // a hook that came out of the spool
	tell(a, 4, event.AgentIdle)    // the later one of the same moment
	tell(a, 5, event.AgentMessaged)
	tell(a, 6, event.Type("step_working"))
	tell(a, 12, event.AgentEnded)
	span := func(since, until, each int) []daemon.StateChange {
		t.Helper()
		return result(st.StateChanges(t.Context(), daemon.SpanQuery{AgentIDs: []int64{a.ID, b.ID}, Since: at(since), Until: at(until), Each: each}))(t)
	}
	equal(t, "all", span(0, 60, 0), []daemon.StateChange{is(a, 1, daemon.Starting), is(a, 4, daemon.Working), is(a, 4, daemon.Idle), is(a, 9, daemon.Waiting),
		is(a, 12, daemon.Ended), is(b, 3, daemon.Limited)})
	equal(t, "a span", span(9, 12, 0), []daemon.StateChange{is(a, 4, daemon.Idle), is(a, 9, daemon.Waiting), is(b, 3, daemon.Limited)})
	equal(t, "the newest", span(2, 60, 2), []daemon.StateChange{is(a, 1, daemon.Starting), is(a, 9, daemon.Waiting), is(a, 12, daemon.Ended), is(b, 3, daemon.Limited)})
	equal(t, "of nobody", result(st.StateChanges(t.Context(), daemon.SpanQuery{Until: at(60)}))(t), []daemon.StateChange{})
}

// agentLives: the agents that lived in a span of time.
func agentLives(t *testing.T, st daemon.Store) {
	begin := now().Add(-time.Hour)
	at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
	slug := "reviewer-ann-1"
	live := func(from, until int, persona *string) *daemon.Agent {
		return NewAgent(t, st, func(a *daemon.Agent) {
			a.CreatedAt, a.StateAt, a.Persona = at(from), at(from), persona
			if until > 0 {
				a.State, a.EndedAt, a.StateAt = daemon.Ended, ptr(at(until)), at(until)
			}
		})
	}
	early, long, open, late := live(0, 10, &slug), live(5, 30, nil), live(12, 0, &slug), live(50, 0, nil)
	list := func(q daemon.LifeQuery) []int64 {
		t.Helper()
		return idsOf(result(st.AgentLives(t.Context(), q))(t))
	}
	equal(t, "all", list(daemon.LifeQuery{Until: at(60)}), []int64{late.ID, open.ID, long.ID, early.ID})
	equal(t, "in a span", list(daemon.LifeQuery{Since: at(11), Until: at(50)}), []int64{open.ID, long.ID})
	equal(t, "ends with the span's beginning", list(daemon.LifeQuery{Since: at(10), Until: at(12)}), []int64{long.ID, early.ID})
	equal(t, "by id", list(daemon.LifeQuery{IDs: []int64{early.ID, long.ID}, Until: at(60), Limit: 1}), []int64{long.ID})
	equal(t, "whole", result(st.AgentLives(t.Context(), daemon.LifeQuery{IDs: []int64{early.ID}, Until: at(60)}))(t), []daemon.AgentLife{{
		ID: early.ID, Name: "a", Persona: slug, Generation: 1, State: daemon.Ended, StateAt: at(10), CreatedAt: at(0), EndedAt: ptr(at(10))}})
}

// completedMetrics: the newest completed handoffs count, without one of them.
func completedMetrics(t *testing.T, st daemon.Store) {
	var ids []int64
	for i, phase := range []daemon.Phase{daemon.Completed, daemon.Cancelled, daemon.Completed, daemon.Completed} {
		a := NewAgent(t, st, nil)
		h := NewHandoff(t, st, a.ID)
		h.Phase, h.Metrics = phase, daemon.Metrics{TotalMS: int64(i + 1), Phases: map[daemon.Phase]int64{daemon.Briefing: int64(i)}}
		if phase == daemon.Completed {
			h.RecordedAt = ptr(now())
		}
		Commit(t, st, &daemon.Change{Move: &daemon.Move{Handoff: h, From: daemon.Requested}})
		ids = append(ids, h.ID)
	}
	totals := func(except int64, limit int) (all []int64) {
		t.Helper()
		for _, m := range result(st.CompletedMetrics(t.Context(), except, limit))(t) {
			all = append(all, m.TotalMS)
		}
		return all
	}
	equal(t, "all", totals(0, 0), []int64{4, 3, 1})
	equal(t, "the newest", totals(ids[3], 1), []int64{3})
	equal(t, "whole", result(st.CompletedMetrics(t.Context(), ids[3], 1))(t), []daemon.Metrics{{TotalMS: 3, Phases: map[daemon.Phase]int64{daemon.Briefing: 2}}})
}
