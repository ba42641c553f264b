package db

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// wholeRecord is a record of a handoff in which no field is empty.
func wholeRecord(h *daemon.Handoff) *daemon.Record {
	var r daemon.Record
	fill(reflect.ValueOf(&r).Elem())
	r.HandoffID, r.AgentID = h.ID, h.AgentID
	return &r
}

// recorded returns the move of h into recorded together with its record.
func recorded(h *daemon.Handoff, r *daemon.Record) *daemon.Change {
	c := moved(h, daemon.Recorded)
	c.NewRecord = r
	return c
}

// newRecord commits a new handoff of an agent and its record.
func newRecord(t testing.TB, db *DB, agentID int64) *daemon.Record {
	t.Helper()
	h := newHandoff(t, db, agentID)
	r := wholeRecord(h)
	commit(t, db, recorded(h, r))
	return r
}

func TestRecordIsKeptWhole(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := newRecord(t, db, newAgent(t, db, nil).ID)
	got, err := db.Record(t.Context(), r.HandoffID)
	equal(t, "whole", must(t, got, err), *r)

	h := newHandoff(t, db, newAgent(t, db, nil).ID)
	commit(t, db, recorded(h, &daemon.Record{HandoffID: h.ID, AgentID: h.AgentID, Decisions: []data.Decision{{}}}))
	got, err = db.Record(t.Context(), h.ID)
	equal(t, "empty", must(t, got, err), daemon.Record{
		HandoffID: h.ID, AgentID: h.AgentID, Messages: []data.Message{}, References: []data.Reference{},
		Decisions: []data.Decision{{RelatedArtifacts: []string{}}},
	})

	h = newHandoff(t, db, newAgent(t, db, nil).ID)
	commit(t, db, recorded(h, &daemon.Record{HandoffID: h.ID, AgentID: h.AgentID}))
	got, err = db.Record(t.Context(), h.ID)
	equal(t, "no decisions", must(t, got, err).Decisions, []data.Decision{})
	if _, err := db.Record(t.Context(), newHandoff(t, db, newAgent(t, db, nil).ID).ID); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("a handoff without a record: %v", err)
	}
}

// TestRecordIsReadInAnyZone has a session whose zone's times JSON could not be parsed with.
func TestRecordIsReadInAnyZone(t *testing.T) {
	t.Parallel()
	db := open(t)
	h := newHandoff(t, db, newAgent(t, db, nil).ID)
	r := wholeRecord(h)
	r.Decisions[0].Timestamp = r.Decisions[0].Timestamp.AddDate(-200, 0, 0) // local mean time: seconds in the offset
	commit(t, db, recorded(h, r))
	away, err := Open(t.Context(), Config{ConnString: db.connect.ConnString(), Configure: func(c *pgx.ConnConfig) {
		c.RuntimeParams["timezone"] = "Europe/Berlin"
	}})
	must(t, away, err)
	defer away.Close()
	got, err := away.Record(t.Context(), h.ID)
	equal(t, "record", must(t, got, err), *r)
}

func TestRecordIsReplaced(t *testing.T) {
	t.Parallel()
	db := open(t)
	h := newHandoff(t, db, newAgent(t, db, nil).ID)
	first := wholeRecord(h)
	first.Decisions = append(first.Decisions, first.Decisions...)
	c := recorded(h, first)
	commit(t, db, c)
	other := newRecord(t, db, newAgent(t, db, nil).ID)

	late := recorded(c.Move.Handoff, wholeRecord(h))
	late.Move.Handoff.Seq--
	if err := db.Commit(t.Context(), late); !errors.Is(err, daemon.ErrMoved) {
		t.Errorf("a late move: %v", err)
	}
	got, err := db.Record(t.Context(), h.ID)
	equal(t, "after a late move", must(t, got, err), *first)

	second := wholeRecord(h)
	second.Decisions = second.Decisions[:1]
	commit(t, db, recorded(c.Move.Handoff, second))
	got, err = db.Record(t.Context(), h.ID)
	equal(t, "replaced", must(t, got, err), *second)
	got, err = db.Record(t.Context(), other.HandoffID)
	equal(t, "another handoff's", must(t, got, err), *other)
	if n := rowCount(t, db, "decisions"); n != 1+len(other.Decisions) {
		t.Errorf("%d decisions", n)
	}
}

func TestDecisionsSayWhoseTheyAre(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := newRecord(t, db, newAgent(t, db, nil).ID)
	rows, err := db.pool.Query(t.Context(), `SELECT agent_id, persona, position, summary FROM decisions ORDER BY id`)
	must(t, rows, err)
	type row struct {
		AgentID  int64
		Persona  string
		Position int
		Summary  string
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	equal(t, "decisions", must(t, got, err), []row{
		{r.AgentID, r.Persona, 0, r.Decisions[0].Summary}, {r.AgentID, r.Persona, 1, r.Decisions[1].Summary},
	})
}

func TestRecordWithAnyBytes(t *testing.T) {
	t.Parallel()
	db := open(t)
	const bad, good = "a\x00\xffb\\u0000", "a\uFFFD\uFFFDb\\u0000"
	with := func(h *daemon.Handoff, s string) *daemon.Record {
		return &daemon.Record{
			HandoffID: h.ID, AgentID: h.AgentID, Agent: s, Persona: s, Document: s, Context: s, At: now(),
			Messages:   []data.Message{{Agent: s, Role: s, Text: s}},
			References: []data.Reference{{Path: s, Note: s}},
			Decisions:  []data.Decision{{Agent: s, Summary: s, Rationale: s, RelatedArtifacts: []string{s, s}}},
		}
	}
	h := newHandoff(t, db, newAgent(t, db, nil).ID)
	want := with(h, good)
	given := with(h, bad)
	given.At = want.At
	commit(t, db, recorded(h, given))
	got, err := db.Record(t.Context(), h.ID)
	equal(t, "record", must(t, got, err), *want)
}

func TestHooksLeaveTheRecordAlone(t *testing.T) {
	t.Parallel()
	db := open(t)
	a := newAgent(t, db, func(a *daemon.Agent) { a.LaunchHash = []byte("l") })
	r := newRecord(t, db, a.ID)
	in := input("k")
	in.LaunchHash = a.LaunchHash
	record(t, db, in, func(tx daemon.HookTx) daemon.HookDecision {
		tx.Handoff.StopHook = tx.HookID
		return daemon.HookDecision{Applied: true, Change: daemon.Change{
			Agents: []*daemon.Agent{tx.Agent}, Move: &daemon.Move{Handoff: tx.Handoff, From: tx.Handoff.Phase},
		}}
	})
	got, err := db.Record(t.Context(), r.HandoffID)
	equal(t, "record", must(t, got, err), *r)
}

// generations commits n agents, each the successor of the one before, the first that of previous.
func generations(t testing.TB, db *DB, previous *daemon.Agent, n int) []*daemon.Agent {
	t.Helper()
	var line []*daemon.Agent
	for range n {
		before := previous
		previous = newAgent(t, db, func(a *daemon.Agent) {
			if before != nil {
				a.PreviousAgentID, a.Generation = &before.ID, before.Generation+1
			}
		})
		line = append(line, previous)
	}
	return line
}

// brief is a record as a line's list holds it.
func brief(r *daemon.Record) daemon.Record {
	b := *r
	b.Document, b.Context = "", ""
	return b
}

func TestRecordsOfALine(t *testing.T) {
	t.Parallel()
	db := open(t)
	line := generations(t, db, nil, 4)
	branch := generations(t, db, line[0], 2) // of a session that was resumed
	newRecord(t, db, newAgent(t, db, nil).ID)
	one := newRecord(t, db, line[0].ID)
	old := newHandoff(t, db, line[1].ID)
	c := moved(old, daemon.Failed)
	c.NewRecord = wholeRecord(old)
	commit(t, db, c)
	two := newRecord(t, db, line[1].ID)
	newHandoff(t, db, line[2].ID) // has none yet
	newRecord(t, db, line[3].ID)
	twoB := newRecord(t, db, branch[0].ID)
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
		got, err := db.LineRecords(t.Context(), daemon.LineQuery{AgentID: tt.agent, Limit: tt.limit, Messages: 99, MessageBytes: 1 << 20})
		equal(t, name, must(t, got, err), tt.want)
	}
}

// TestMessagesOfALine: messages are read until there are enough, from the nearest predecessor on.
func TestMessagesOfALine(t *testing.T) {
	t.Parallel()
	db := open(t)
	line := generations(t, db, nil, 4)
	for _, a := range line {
		newRecord(t, db, a.ID) // with two messages
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
		got, err := db.LineRecords(t.Context(), daemon.LineQuery{AgentID: line[3].ID, Messages: tt.messages, MessageBytes: tt.bytes})
		var n []int
		for _, rec := range must(t, got, err) {
			n = append(n, len(rec.Messages))
		}
		equal(t, name, n, tt.want)
	}
}

func TestHandoffsOfALine(t *testing.T) {
	t.Parallel()
	db := open(t)
	line := generations(t, db, nil, 4)
	branch := generations(t, db, line[0], 2)
	of := map[*daemon.Agent]int64{}
	for _, a := range append(line, branch...) {
		of[a] = newHandoff(t, db, a.ID).ID
	}
	again := newHandoff(t, db, newAgent(t, db, nil).ID) // of another line
	commit(t, db, moved(again, daemon.Cancelled))
	newHandoff(t, db, again.AgentID)
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
		got, err := db.LineHandoffs(t.Context(), tt.agent, tt.limit)
		ids := []int64{}
		for _, h := range must(t, got, err) {
			ids = append(ids, h.ID)
		}
		equal(t, name, ids, tt.want)
	}
}

func TestLineInACircle(t *testing.T) {
	t.Parallel()
	db := open(t)
	line := generations(t, db, nil, 3)
	line[0].PreviousAgentID = &line[2].ID
	commit(t, db, &daemon.Change{Agents: line[:1]})
	var records []*daemon.Record
	for _, a := range line {
		records = append(records, newRecord(t, db, a.ID))
	}
	got, err := db.LineRecords(t.Context(), daemon.LineQuery{AgentID: line[1].ID, Limit: 9, Messages: 99, MessageBytes: 1 << 20})
	equal(t, "records", must(t, got, err), []daemon.Record{brief(records[0]), brief(records[2])})
	handoffs, err := db.LineHandoffs(t.Context(), line[1].ID, 9)
	if n := len(must(t, handoffs, err)); n != 3 {
		t.Errorf("%d handoffs", n)
	}
}

func TestLineIsLookedBackOverAThousandAgents(t *testing.T) {
	t.Parallel()
	db := open(t)
	first := newAgent(t, db, nil)
	r := newRecord(t, db, first.ID)
	_, err := db.pool.Exec(t.Context(), `INSERT INTO agents SELECT (jsonb_populate_record(agents, jsonb_build_object(
			'id', id + n, 'previous_agent_id', id + n - 1, 'tmux_session', 'line-' || n))).*
		FROM agents, generate_series(1, 1001) AS n`)
	if err != nil {
		t.Fatal(err)
	}
	for back, want := range map[int64][]daemon.Record{1000: {brief(r)}, 1001: {}} {
		got, err := db.LineRecords(t.Context(), daemon.LineQuery{AgentID: first.ID + back, Limit: 9, Messages: 99, MessageBytes: 1 << 20})
		equal(t, "records", must(t, got, err), want)
	}
	handoffs, err := db.LineHandoffs(t.Context(), first.ID+1001, 9)
	if n := len(must(t, handoffs, err)); n != 1 {
		t.Errorf("%d handoffs", n)
	}
}

// multiply fills an empty database with 5000 agents, in lines of four, each with a handoff and a
// record, so that the planner has something to plan for.
func multiply(t testing.TB, db *DB) {
	t.Helper()
	newRecord(t, db, newAgent(t, db, nil).ID)
	_, err := db.pool.Exec(t.Context(), `
		INSERT INTO agents SELECT (jsonb_populate_record(agents, jsonb_build_object('id', id + n,
			'previous_agent_id', CASE WHEN n % 4 > 0 THEN id + n - 1 END, 'tmux_session', n))).*
		FROM agents, generate_series(1, 5000) AS n;
		INSERT INTO handoffs (`+handoffColumns+`) SELECT `+handoffColumns+` FROM (
			SELECT (jsonb_populate_record(handoffs, jsonb_build_object('id', id + n,
				'agent_id', agent_id + n, 'ref', n, 'file_path', n))).*
			FROM handoffs, generate_series(1, 5000) AS n) AS h;
		INSERT INTO records SELECT (jsonb_populate_record(records, jsonb_build_object(
			'handoff_id', handoff_id + n, 'agent_id', agent_id + n))).*
		FROM records, generate_series(1, 5000) AS n;
		INSERT INTO decisions SELECT (jsonb_populate_record(decisions, jsonb_build_object(
			'id', id + 10 * n, 'handoff_id', handoff_id + n))).*
		FROM decisions, generate_series(1, 5000) AS n;
		ANALYZE`)
	if err != nil {
		t.Fatal(err)
	}
}

func TestLinesAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	db := open(t)
	multiply(t, db)
	for name, tt := range map[string]struct {
		sql  string
		args []any
		uses []string
	}{
		"record":        {selectRecord, []any{int64(99)}, []string{"records_pkey", "decisions_position_key"}},
		"line records":  {listLineRecords, []any{int64(99), 9, 50, int64(1 << 20)}, []string{"agents_pkey", "records_agent", "decisions_position_key"}},
		"line handoffs": {listLineHandoffs, []any{int64(99), 9}, []string{"agents_pkey", "agents_previous", "handoffs_agent"}},
	} {
		args := append([]any{pgx.QueryExecModeSimpleProtocol}, tt.args...) // a plan is for values, not for placeholders
		rows, err := db.pool.Query(t.Context(), "EXPLAIN "+tt.sql, args...)
		must(t, rows, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		plan := strings.Join(must(t, lines, err), "\n")
		for _, index := range tt.uses {
			if !strings.Contains(plan, " "+index+" ") {
				t.Errorf("%s does not use %s:\n%s", name, index, plan)
			}
		}
		if strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s reads a whole table:\n%s", name, plan)
		}
	}
}
