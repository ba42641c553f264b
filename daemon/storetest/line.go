package storetest

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// brief returns a record as LineRecords returns it.
func brief(r *daemon.Record) daemon.Record {
	b := *r
	b.Document, b.Context = "", ""
	return b
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
