package storetest

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// generations commits n agents. Each is the successor of the one before; the first is the successor of previous.
func generations(t testing.TB, st daemon.Store, previous *daemon.Agent, n int) []*daemon.Agent {
	t.Helper()
	var line []*daemon.Agent
	for range n {
		before := previous
		previous = NewAgent(t, st, func(a *daemon.Agent) {
			if before != nil {
				a.PreviousAgentID, a.Generation = &before.ID, before.Generation+1
			}
		})
		line = append(line, previous)
	}
	return line
}

// brief returns a record as LineRecords returns it.
func brief(r *daemon.Record) daemon.Record {
	b := *r
	b.Document, b.Context = "", ""
	return b
}

func recordsOfALine(t *testing.T, st daemon.Store) {
	line := generations(t, st, nil, 4)
	branch := generations(t, st, line[0], 2) // the first agent has a second successor, for a resumed session
	NewRecord(t, st, NewAgent(t, st, nil).ID)
	one := NewRecord(t, st, line[0].ID)
	old := NewHandoff(t, st, line[1].ID)
	c := Moved(old, daemon.Failed)
	c.NewRecord = WholeRecord(old)
	Commit(t, st, c)
	two := NewRecord(t, st, line[1].ID)
	NewHandoff(t, st, line[2].ID) // has no record yet
	NewRecord(t, st, line[3].ID)
	twoB := NewRecord(t, st, branch[0].ID)
	for name, tt := range map[string]struct {
		agent int64
		limit int
		want  []daemon.Record
	}{
		"all before":    {line[3].ID, 0, []daemon.Record{brief(two), brief(one)}},
		"the nearest":   {line[3].ID, 1, []daemon.Record{brief(two)}},
		"branch":        {branch[1].ID, 9, []daemon.Record{brief(twoB), brief(one)}},
		"first":         {line[0].ID, 9, []daemon.Record{}},
		"unknown agent": {999, 9, []daemon.Record{}},
	} {
		equal(t, name, result(st.LineRecords(t.Context(), daemon.LineQuery{AgentID: tt.agent, Limit: tt.limit, Messages: 99, MessageBytes: 1 << 20}))(t), tt.want)
	}
}

// messagesOfALine: the store returns messages of the nearest predecessor first, until there are enough.
func messagesOfALine(t *testing.T, st daemon.Store) {
	line := generations(t, st, nil, 4)
	for _, a := range line {
		NewRecord(t, st, a.ID) // with two messages
	}
	for name, tt := range map[string]struct {
		messages int
		bytes    int64
		want     []int
	}{
		"none":            {0, 1 << 20, []int{0, 0, 0}},
		"one":             {1, 1 << 20, []int{2, 0, 0}},
		"two":             {2, 1 << 20, []int{2, 0, 0}},
		"three":           {3, 1 << 20, []int{2, 2, 0}},
		"all":             {99, 1 << 20, []int{2, 2, 2}},
		"no more bytes":   {99, 1, []int{2, 0, 0}},
		"no bytes at all": {99, 0, []int{0, 0, 0}},
	} {
		var n []int
		for _, rec := range result(st.LineRecords(t.Context(), daemon.LineQuery{AgentID: line[3].ID, Messages: tt.messages, MessageBytes: tt.bytes}))(t) {
			n = append(n, len(rec.Messages))
		}
		equal(t, name, n, tt.want)
	}
}

func handoffsOfALine(t *testing.T, st daemon.Store) {
	line := generations(t, st, nil, 4)
	branch := generations(t, st, line[0], 2)
	of := map[*daemon.Agent]int64{}
	for _, a := range append(line, branch...) {
		of[a] = NewHandoff(t, st, a.ID).ID
	}
	again := NewHandoff(t, st, NewAgent(t, st, nil).ID) // in another line
	Commit(t, st, Moved(again, daemon.Cancelled))
	NewHandoff(t, st, again.AgentID)
	for name, tt := range map[string]struct {
		agent int64
		limit int
		want  []int64
	}{
		"first":         {line[0].ID, 0, []int64{of[branch[1]], of[branch[0]], of[line[3]], of[line[2]], of[line[1]], of[line[0]]}},
		"middle":        {line[1].ID, 9, []int64{of[line[3]], of[line[2]], of[line[1]], of[line[0]]}},
		"last":          {line[3].ID, 9, []int64{of[line[3]], of[line[2]], of[line[1]], of[line[0]]}},
		"branch":        {branch[1].ID, 9, []int64{of[branch[1]], of[branch[0]], of[line[0]]}},
		"newest":        {line[2].ID, 2, []int64{of[line[3]], of[line[2]]}},
		"more of one":   {again.AgentID, 9, []int64{again.ID + 1, again.ID}},
		"unknown agent": {999, 9, []int64{}},
	} {
		equal(t, name, idsOf(result(st.LineHandoffs(t.Context(), tt.agent, tt.limit))(t)), tt.want)
	}
}

func lineInACircle(t *testing.T, st daemon.Store) {
	line := generations(t, st, nil, 3)
	line[0].PreviousAgentID = &line[2].ID
	Commit(t, st, &daemon.Change{Agents: line[:1]})
	var records []*daemon.Record
	for _, a := range line {
		records = append(records, NewRecord(t, st, a.ID))
	}
	equal(t, "records", result(st.LineRecords(t.Context(), daemon.LineQuery{AgentID: line[1].ID, Limit: 9, Messages: 99, MessageBytes: 1 << 20}))(t), []daemon.Record{brief(records[0]), brief(records[2])})
	handoffs := result(st.LineHandoffs(t.Context(), line[1].ID, 9))(t)
	if n := len(handoffs); n != 3 {
		t.Errorf("%d handoffs", n)
	}
}

func lineIsLookedBackOverAThousandAgents(t *testing.T, h Harness) {
	st := h.Store
	first := NewAgent(t, st, nil)
	r := NewRecord(t, st, first.ID)
	h.Line(t, first, 1001)
	for back, want := range map[int64][]daemon.Record{1000: {brief(r)}, 1001: {}} {
		equal(t, "records", result(st.LineRecords(t.Context(), daemon.LineQuery{AgentID: first.ID + back, Limit: 9, Messages: 99, MessageBytes: 1 << 20}))(t), want)
	}
	handoffs := result(st.LineHandoffs(t.Context(), first.ID+1001, 9))(t)
	if n := len(handoffs); n != 1 {
		t.Errorf("%d handoffs", n)
	}
}
