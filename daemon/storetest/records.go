package storetest

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// WholeRecord returns a record of a handoff in which no field is empty, not committed.
func WholeRecord(h *daemon.Handoff) *daemon.Record {
	r := whole[daemon.Record]()
	r.HandoffID, r.AgentID = h.ID, h.AgentID
	return &r
}

// Recorded returns a change that moves h to recorded and adds its record.
func Recorded(h *daemon.Handoff, r *daemon.Record) *daemon.Change {
	c := Moved(h, daemon.Recorded)
	c.NewRecord = r
	return c
}

// NewRecord commits a new handoff of an agent and its record.
func NewRecord(t testing.TB, st daemon.Store, agentID int64) *daemon.Record {
	t.Helper()
	h := NewHandoff(t, st, agentID)
	r := WholeRecord(h)
	Commit(t, st, Recorded(h, r))
	return r
}
