package storetest

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

func census(t *testing.T, st daemon.Store) {
	equal(t, "an empty host", result(st.Census(t.Context(), "h1"))(t), daemon.Census{
		Agents: map[daemon.AgentState]int{}, Trouble: map[string]int{}, Handoffs: map[daemon.Phase]int{}, Pipelines: map[daemon.PipelineStatus]int{},
	})
	since := now().Add(-time.Hour)
	state := func(s daemon.AgentState, at time.Time) func(*daemon.Agent) {
		return func(a *daemon.Agent) { a.State, a.StateAt = s, at }
	}
	NewAgent(t, st, state(daemon.Waiting, since.Add(time.Minute)))
	NewAgent(t, st, state(daemon.Waiting, since))
	trouble := &daemon.Trouble{Code: "usage_limit", Since: since}
	NewAgent(t, st, func(a *daemon.Agent) { state(daemon.Idle, since.Add(-time.Hour))(a); a.Trouble = trouble })
	NewAgent(t, st, func(a *daemon.Agent) { a.State, a.EndedAt, a.Trouble = daemon.Ended, ptr(now()), trouble })
	elsewhere := NewAgent(t, st, func(a *daemon.Agent) { a.Host, a.State, a.StateAt = "h2", daemon.Waiting, since.Add(-time.Hour) })
	working := NewAgent(t, st, state(daemon.Working, since))
	h := NewHandoff(t, st, working.ID)
	Commit(t, st, Moved(h, daemon.Verifying))
	over := NewHandoff(t, st, NewAgent(t, st, state(daemon.Working, since)).ID)
	Commit(t, st, Moved(over, daemon.Cancelled))
	other := AHandoff(t, st, elsewhere.ID)
	other.Host = "h2"
	Commit(t, st, &daemon.Change{NewHandoff: other})
	NewPipeline(t, st, 1, InStatus(daemon.PipelineWaiting))
	NewPipeline(t, st, 1, InStatus(daemon.PipelineDone))
	NewPipeline(t, st, 1, func(p *daemon.Pipeline) { InStatus(daemon.PipelineRunning)(p); p.Host = "h2" })

	equal(t, "a host", result(st.Census(t.Context(), "h1"))(t), daemon.Census{
		Agents:       map[daemon.AgentState]int{daemon.Waiting: 2, daemon.Idle: 1, daemon.Working: 2},
		Trouble:      map[string]int{"usage_limit": 1},
		WaitingSince: &since,
		Handoffs:     map[daemon.Phase]int{daemon.Verifying: 1},
		Pipelines:    map[daemon.PipelineStatus]int{daemon.PipelineWaiting: 1},
	})
}
