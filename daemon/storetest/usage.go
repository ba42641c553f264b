package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// usageIsCountedOnce: an answer counts once, for the agent that it was counted for first, and a source has one reader.
func usageIsCountedOnce(t *testing.T, st daemon.Store) {
	ctx := t.Context()
	slug := "reviewer-ann-1"
	first := NewAgent(t, st, func(a *daemon.Agent) { a.Persona = &slug })
	second := NewAgent(t, st, nil)
	at := time.Date(2026, 5, 6, 23, 59, 59, 123456789, time.FixedZone("", 3600))
	answer := func(key string, output int64, cost *int64) runtimes.Usage {
		return runtimes.Usage{Key: key, Model: "m", At: at, Tokens: runtimes.Tokens{Input: 1, Output: output, CacheRead: 3, CacheWrite: 4, Reasoning: 5}, Micros: cost}
	}
	add := func(a *daemon.Agent, path string, from, to int64, answers ...runtimes.Usage) error {
		return st.AddUsage(ctx, daemon.UsageAdded{Agent: a, From: from, Answers: answers, Read: daemon.UsageRead{Host: "h1", Path: path, ReadTo: to, Model: "m"}})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(add(first, "/a", 0, 10, answer("1", 2, nil), answer("2", 20, ptr(int64(7)))))
	if err := add(first, "/a", 0, 10, answer("3", 2, nil)); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("read twice from the beginning: %v", err)
	}
	must(add(second, "/a", 10, 30, answer("1", 9, ptr(int64(5))), answer("2", 1, nil)))
	must(add(second, "/b\x00", 0, 1))

	reads := result(st.UsageReads(ctx, "h1", second.ID, nil))(t)
	equal(t, "reads", reads, []daemon.UsageRead{
		{Host: "h1", Path: "/a", AgentID: second.ID, ReadTo: 30, Model: "m"}, {Host: "h1", Path: "/b\ufffd", AgentID: second.ID, ReadTo: 1, Model: "m"}})
	equal(t, "reads by path", result(st.UsageReads(ctx, "h1", first.ID, []string{"/a"}))(t), reads[:1])
	equal(t, "reads of another host", result(st.UsageReads(ctx, "h2", second.ID, []string{"/a"}))(t), []daemon.UsageRead{})

	sum := daemon.UsageSum{AgentID: first.ID, Persona: slug, Runtime: first.Runtime, Micros: ptr(int64(12)),
		Tokens: runtimes.Tokens{Input: 2, Output: 29, CacheRead: 6, CacheWrite: 8, Reasoning: 10}}
	equal(t, "sums", result(st.UsageSums(ctx, daemon.UsageQuery{}))(t), []daemon.UsageSum{sum})
	equal(t, "of the second", result(st.UsageSums(ctx, daemon.UsageQuery{AgentIDs: []int64{second.ID}}))(t), []daemon.UsageSum{})
	equal(t, "since", result(st.UsageSums(ctx, daemon.UsageQuery{Persona: slug, Since: at.Add(time.Second)}))(t), []daemon.UsageSum{})
	sum.Day = 2
	equal(t, "by day", result(st.UsageSums(ctx, daemon.UsageQuery{Host: "h1", Days: []time.Time{at.Add(-48 * time.Hour), at.Truncate(time.Microsecond), at.Add(time.Hour)}}))(t),
		[]daemon.UsageSum{sum})

	known := daemon.UsageRead{Host: "h1", Path: "/a", AgentID: first.ID}
	Commit(t, st, &daemon.Change{UsageReads: []daemon.UsageRead{known, {Host: "h1", Path: "/c", AgentID: first.ID}}})
	equal(t, "known from a hook", result(st.UsageReads(ctx, "h1", first.ID, nil))(t), []daemon.UsageRead{{Host: "h1", Path: "/c", AgentID: first.ID}})
}

// usageOfRuns: the sums of a pipeline's agents, and no usage without its agent.
func usageOfRuns(t *testing.T, st daemon.Store) {
	ctx := t.Context()
	p := NewPipeline(t, st, 1, nil)
	ended := now().Add(-time.Hour)
	of := NewAgent(t, st, func(a *daemon.Agent) { a.PipelineID = &p.ID })
	gone := NewAgent(t, st, func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, &ended })
	for i, a := range []*daemon.Agent{of, gone} {
		in := daemon.UsageAdded{Agent: a, Read: daemon.UsageRead{Host: "h1", Path: string(rune('a' + i)), ReadTo: 1},
			Answers: []runtimes.Usage{{Key: string(rune('a' + i)), At: now(), Tokens: runtimes.Tokens{Output: 3}}}}
		if err := st.AddUsage(ctx, in); err != nil {
			t.Fatal(err)
		}
	}
	run := daemon.UsageSum{AgentID: of.ID, Runtime: of.Runtime, PipelineID: &p.ID, Tokens: runtimes.Tokens{Output: 3}}
	equal(t, "of the run", result(st.UsageSums(ctx, daemon.UsageQuery{PipelineID: p.ID}))(t), []daemon.UsageSum{run})
	if pruned := result(st.PruneHistory(ctx, now(), 0))(t); pruned.Agents != 1 {
		t.Fatalf("pruned %+v", pruned)
	}
	equal(t, "after the agent was deleted", result(st.UsageSums(ctx, daemon.UsageQuery{}))(t), []daemon.UsageSum{run})
}

// budgetMarksAreMadeOnce: a mark comes with its event, or not at all.
func budgetMarksAreMadeOnce(t *testing.T, st daemon.Store) {
	ctx := t.Context()
	mark := func(day string, stage daemon.BudgetStage, budget string) *daemon.Change {
		return &daemon.Change{BudgetMarks: []*daemon.BudgetMark{{Host: "h1", Persona: "p", Day: day, Mark: stage, Budget: budget}},
			Events: []*event.Event{{Type: event.BudgetReached, Host: "h1"}}}
	}
	Commit(t, st, mark("2026-05-06", daemon.BudgetReached, "$5 a day"))
	Commit(t, st, mark("2026-05-07", daemon.BudgetReached, "$5 a day"))
	Commit(t, st, mark("2026-05-07", daemon.BudgetReached, "$6 a day"))
	Commit(t, st, mark("2026-05-07", daemon.BudgetWaived, ""))
	if err := st.Commit(ctx, mark("2026-05-07", daemon.BudgetReached, "$5 a day")); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("made twice: %v", err)
	}
	if n := len(events(t, st)); n != 4 {
		t.Errorf("%d events", n)
	}
	var got []string
	for _, m := range result(st.BudgetMarks(ctx, "h1", "2026-05-07"))(t) {
		if m.Host != "h1" || m.Persona != "p" || m.At.IsZero() {
			t.Errorf("%+v", m)
		}
		got = append(got, m.Day+" "+string(m.Mark)+" "+m.Budget)
	}
	equal(t, "marks", got, []string{"2026-05-07 reached $5 a day", "2026-05-07 reached $6 a day", "2026-05-07 waived "})
	equal(t, "marks of another host", result(st.BudgetMarks(ctx, "h2", "2026-05-07"))(t), []daemon.BudgetMark{})
}
