package db

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// percentiles times each round and reports the 50th and 99th percentile in milliseconds.
func percentiles(b *testing.B, round func(i int)) {
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		round(i)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
}

// BenchmarkCommit writes a typical change: an agent, a handoff in its next phase, a new delivery and
// two events.
func BenchmarkCommit(b *testing.B) {
	db := open(b)
	a := newAgent(b, db, nil)
	h := newHandoff(b, db, a.ID)
	phases := []daemon.Phase{daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying}
	percentiles(b, func(i int) {
		from := h.Phase
		h.Phase = phases[i%len(phases)]
		commit(b, db, &daemon.Change{
			Agents: []*daemon.Agent{a}, Move: &daemon.Move{Handoff: h, From: from, Cause: "benchmark"},
			NewDeliveries: []*daemon.Delivery{aDelivery(b, db, a.ID)},
			Events:        []*event.Event{{Type: "one", Host: "h1"}, {Type: "two", Host: "h1"}},
		})
	})
}

// BenchmarkRecordHook stores a Stop that changes its agent.
func BenchmarkRecordHook(b *testing.B) {
	db := open(b)
	a := newAgent(b, db, func(a *daemon.Agent) { a.LaunchHash = []byte("l") })
	newHandoff(b, db, a.ID)
	percentiles(b, func(i int) {
		in := input(fmt.Sprint(i))
		in.LaunchHash = a.LaunchHash
		record(b, db, in, func(tx daemon.HookTx) daemon.HookDecision {
			tx.Agent.LastHook = tx.HookID
			return daemon.HookDecision{Applied: true, Change: daemon.Change{
				Agents: []*daemon.Agent{tx.Agent}, Events: []*event.Event{{Type: "t", Host: "h1"}},
			}}
		})
	})
}

// BenchmarkOpenAgents runs the query of the sweep each second, over many agents that have ended.
func BenchmarkOpenAgents(b *testing.B) {
	db := open(b)
	for range 500 {
		newAgent(b, db, func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, new(now()) })
	}
	newDelivery(b, db, newAgent(b, db, nil).ID)
	percentiles(b, func(int) {
		value(db.Open(b.Context(), "h1"))(b)
	})
}

// BenchmarkRecord commits a record of the size of the largest context file: 50 messages and 50
// decisions.
func BenchmarkRecord(b *testing.B) {
	db := open(b)
	h := newHandoff(b, db, newAgent(b, db, nil).ID)
	r := wholeRecord(h)
	r.Messages = slices.Repeat(r.Messages, 25)
	r.Decisions = slices.Repeat(r.Decisions, 25)
	h.Phase, h.RecordedAt = daemon.Recorded, new(now())
	from := daemon.Requested
	percentiles(b, func(int) {
		commit(b, db, &daemon.Change{Move: &daemon.Move{Handoff: h, From: from}, NewRecord: r})
		from = h.Phase
	})
}
