package db

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestStructuredIsStoredWithoutNulls reads the stored column, because people query it themselves.
func TestStructuredIsStoredWithoutNulls(t *testing.T) {
	t.Parallel()
	db := open(t)
	h := aHandoff(t, db, newAgent(t, db, nil).ID)
	h.Structured = &daemon.Structured{DecisionsMade: ptr("null"), OpenQuestions: ptr("")}
	raw := func() (text *string) {
		if err := db.pool.QueryRow(t.Context(), "SELECT structured::text FROM handoffs WHERE id = $1", h.ID).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	commit(t, db, &daemon.Change{NewHandoff: h})
	equal(t, "inserted", raw(), ptr(`{"decisions_made": "null", "open_questions": ""}`))
	got, err := db.Handoff(t.Context(), h.ID)
	equal(t, "read", must(t, got, err).Structured, h.Structured)

	c := moved(h, daemon.Instructing)
	c.Move.Handoff.Structured = &daemon.Structured{}
	commit(t, db, c)
	equal(t, "updated", raw(), ptr(`{}`))
	c = moved(c.Move.Handoff, daemon.AwaitingDocument)
	c.Move.Handoff.Structured = nil
	commit(t, db, c)
	equal(t, "none", raw(), (*string)(nil))
}
