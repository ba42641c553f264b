package db

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestAssemblyTimeIsStoredAsAnInteger: A daemon of the release before reads duration_ms as an integer, and writes no
// duration_us.
func TestAssemblyTimeIsStoredAsAnInteger(t *testing.T) {
	t.Parallel()
	db := open(t)
	h := aHandoff(t, db, newAgent(t, db, nil).ID)
	h.Metrics.DurationMS = 41.207
	commit(t, db, &daemon.Change{NewHandoff: h})
	var stored string
	must(t, db.pool.QueryRow(t.Context(), "SELECT metrics->>'duration_ms' FROM handoffs WHERE id = $1", h.ID).Scan(&stored))
	equal(t, "stored", stored, "41")
	got := value(db.Handoff(t.Context(), h.ID))(t)
	equal(t, "read", got.Metrics.DurationMS, 41.207)
	execute(t, db.pool, "UPDATE handoffs SET metrics = metrics - 'duration_us' WHERE id = $1", h.ID)
	equal(t, "written by the release before", value(db.Handoff(t.Context(), h.ID))(t).Metrics.DurationMS, 41.0)
}

// TestHeirOfTheLastRelease: a daemon of the last release writes its only successor on the handoff's row, and no row of an heir.
// Handoffs read from there are those of one heir, whether this release has requested them or that one.
func TestHeirOfTheLastRelease(t *testing.T) {
	t.Parallel()
	for name, theirs := range map[string]string{"requested there": `DELETE FROM handoff_heirs`, "requested here": `SELECT 1`} {
		db := open(t)
		prev, next := newAgent(t, db, nil), newAgent(t, db, nil)
		h := aHandoff(t, db, prev.ID)
		commit(t, db, &daemon.Change{NewHandoff: h})
		for _, sql := range []string{theirs, `UPDATE handoffs SET phase = 'completed', recorded_at = now(), successor_id = (SELECT max(id) FROM agents)`} {
			execute(t, db.pool, sql)
		}
		list := value(db.Handoffs(t.Context(), daemon.HandoffFilter{SuccessorID: next.ID}))(t)
		if len(list) != 1 || len(list[0].Heirs) != 1 {
			t.Fatalf("%s: %+v", name, list)
		}
		h.Heirs[0].AgentID, h.Heirs[0].Phase, h.Heirs[0].PhaseAt, h.Heirs[0].BriefedAt = &next.ID, daemon.Completed, &h.PhaseAt, &h.PhaseAt
		equal(t, name, list[0].Heirs, h.Heirs)
	}
}

// TestStructuredIsStoredWithoutNulls reads the stored column, because people query it themselves.
func TestStructuredIsStoredWithoutNulls(t *testing.T) {
	t.Parallel()
	db := open(t)
	h := aHandoff(t, db, newAgent(t, db, nil).ID)
	h.Structured = &daemon.Structured{DecisionsMade: new("null"), OpenQuestions: new("")}
	raw := func() (text *string) {
		must(t, db.pool.QueryRow(t.Context(), "SELECT structured::text FROM handoffs WHERE id = $1", h.ID).Scan(&text))
		return text
	}
	commit(t, db, &daemon.Change{NewHandoff: h})
	equal(t, "inserted", raw(), new(`{"decisions_made": "null", "open_questions": ""}`))
	equal(t, "read", value(db.Handoff(t.Context(), h.ID))(t).Structured, h.Structured)

	c := moved(h, daemon.Instructing)
	c.Move.Handoff.Structured = &daemon.Structured{}
	commit(t, db, c)
	equal(t, "updated", raw(), new(`{}`))
	c = moved(c.Move.Handoff, daemon.AwaitingDocument)
	c.Move.Handoff.Structured = nil
	commit(t, db, c)
	equal(t, "none", raw(), (*string)(nil))
}
