package storetest

import (
	"errors"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// usageIsCountedOnce: a source has one reader, and an answer counts for the agent that it was counted for first.
func usageIsCountedOnce(t *testing.T, st daemon.Store) {
	const path = "/a\x00" // a store keeps no NUL, and finds what it kept in its place
	first, second := NewAgent(t, st, nil), NewAgent(t, st, nil)
	add := func(a *daemon.Agent, from int64, output int64) error {
		return st.AddUsage(t.Context(), daemon.UsageAdded{Agent: a, From: from, Read: daemon.UsageRead{Host: "h1", Path: path, ReadTo: from + 10},
			Answers: []runtimes.Usage{{Key: "1", At: now(), Tokens: runtimes.Tokens{Output: output}}}})
	}
	if err := add(first, 0, 2); err != nil {
		t.Fatal(err)
	}
	if err := add(first, 0, 50); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("read twice from the beginning: %v", err)
	}
	if err := add(second, 10, 7); err != nil {
		t.Fatal(err)
	}
	equal(t, "sums", result(st.UsageSums(t.Context(), daemon.UsageQuery{}))(t),
		[]daemon.UsageSum{{AgentID: first.ID, Runtime: first.Runtime, Tokens: runtimes.Tokens{Output: 7}}})
	equal(t, "sources with the path", len(result(st.UsageReads(t.Context(), "h1", 0, []string{path}))(t)), 1)
}

// budgetMarksAreMadeOnce: a mark comes with its event, or not at all.
func budgetMarksAreMadeOnce(t *testing.T, st daemon.Store) {
	mark := func() *daemon.Change {
		return &daemon.Change{BudgetMarks: []*daemon.BudgetMark{{Host: "h1", Persona: "p", Day: "2026-05-06", Mark: daemon.BudgetReached, Budget: "$5 a day"}},
			Events: []*event.Event{{Type: event.BudgetReached, Host: "h1"}}}
	}
	Commit(t, st, mark())
	if err := st.Commit(t.Context(), mark()); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("made twice: %v", err)
	}
	if n := len(events(t, st)); n != 1 {
		t.Errorf("%d events", n)
	}
}
