package db

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestRecordIsReadInAnyZone reads in a session with a time zone whose times JSON could not parse.
func TestRecordIsReadInAnyZone(t *testing.T) {
	t.Parallel()
	db := open(t)
	h := newHandoff(t, db, newAgent(t, db, nil).ID)
	r := wholeRecord(h)
	r.Decisions[0].Timestamp = r.Decisions[0].Timestamp.AddDate(-200, 0, 0) // local mean time: seconds in the offset
	commit(t, db, recorded(h, r))
	away := opened(t, Config{ConnString: db.connect.ConnString(), Configure: func(c *pgx.ConnConfig) {
		c.RuntimeParams["timezone"] = "Europe/Berlin"
	}})
	equal(t, "record", value(away.Record(t.Context(), h.ID))(t), *r)
}

func TestDecisionsSayWhoseTheyAre(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := newRecord(t, db, newAgent(t, db, nil).ID)
	rows := value(db.pool.Query(t.Context(), `SELECT agent_id, persona, position, summary FROM decisions ORDER BY id`))(t)
	type row struct {
		AgentID  int64
		Persona  string
		Position int
		Summary  string
	}
	equal(t, "decisions", value(pgx.CollectRows(rows, pgx.RowToStructByPos[row]))(t), []row{
		{r.AgentID, r.Persona, 0, r.Decisions[0].Summary}, {r.AgentID, r.Persona, 1, r.Decisions[1].Summary},
	})

	// A record that is replaced takes its decisions with it.
	h := value(db.Handoff(t.Context(), r.HandoffID))(t)
	r.Decisions = r.Decisions[:1]
	commit(t, db, recorded(&h, r))
	equal(t, "decisions of the new record", rowCount(t, db, "decisions"), 1)
}

// multiply fills an empty database with 5000 agents in lines of four, each with a handoff and a
// record: with less the planner would read whole tables.
func multiply(t testing.TB, db *DB) {
	t.Helper()
	newRecord(t, db, newAgent(t, db, nil).ID)
	value(db.pool.Exec(t.Context(), `
		INSERT INTO agents SELECT (jsonb_populate_record(agents, jsonb_build_object('id', id + n,
			'previous_agent_id', CASE WHEN n % 4 > 0 THEN id + n - 1 END, 'tmux_session', n))).*
		FROM agents, generate_series(1, 5000) AS n;
		INSERT INTO handoffs (`+handoffColumns+`) SELECT `+handoffColumns+` FROM (
			SELECT (jsonb_populate_record(handoffs, jsonb_build_object('id', id + n,
				'agent_id', agent_id + n, 'ref', n, 'file_path', n))).*
			FROM handoffs, generate_series(1, 5000) AS n) AS h;
		INSERT INTO handoff_heirs SELECT id, n, '', '', '', '', NULL, '', NULL, NULL, '', NULL, NULL, NULL
			FROM handoffs, generate_series(0, 1) AS n ON CONFLICT DO NOTHING;
		INSERT INTO records SELECT (jsonb_populate_record(records, jsonb_build_object(
			'handoff_id', handoff_id + n, 'agent_id', agent_id + n))).*
		FROM records, generate_series(1, 5000) AS n;
		INSERT INTO decisions SELECT (jsonb_populate_record(decisions, jsonb_build_object(
			'id', id + 10 * n, 'handoff_id', handoff_id + n))).*
		FROM decisions, generate_series(1, 5000) AS n;
		ANALYZE`))(t)
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
		"line handoffs": {listLineHandoffs, []any{int64(99), 9}, []string{"agents_pkey", "agents_previous", "handoffs_agent", "handoff_heirs_pkey"}},
	} {
		wantIndexes(t, db, name, tt.sql, tt.args, tt.uses...)
	}
}

// wantIndexes fails if a statement does not use the indexes, or reads a whole table.
func wantIndexes(t *testing.T, db *DB, name, sql string, args []any, indexes ...string) {
	t.Helper()
	args = append([]any{pgx.QueryExecModeSimpleProtocol}, args...) // so that the plan is made for the values
	rows := value(db.pool.Query(t.Context(), "EXPLAIN "+sql, args...))(t)
	plan := strings.Join(value(pgx.CollectRows(rows, pgx.RowTo[string]))(t), "\n")
	for _, index := range indexes {
		holds(t, "the plan of "+name, plan, " "+index+" ")
	}
	if strings.Contains(plan, "Seq Scan") {
		t.Errorf("%s reads a whole table:\n%s", name, plan)
	}
}
