package api

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// TestPrune: a dry run counts the rows and deletes nothing. The request without it deletes them.
func TestPrune(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) {
		s.Daemon.Settings().Log.MaxAge, s.Daemon.Settings().History.MaxAge = time.Hour, 24*time.Hour
	})
	old := time.Now().Add(-48 * time.Hour).UTC()
	h.commit(&daemon.Change{Events: []*event.Event{{Type: "agent_idle", Host: "here", At: old}}})
	ended := h.agent(func(a *daemon.Agent) { a.State, a.EndedAt = daemon.Ended, &old })
	lives := h.agent(away)
	h.commit(&daemon.Change{Samples: []daemon.ContextSample{{AgentID: lives.ID, At: old}}})
	want := daemon.PruneReport{Events: 1, Agents: 1}
	for range 2 {
		equal(t, "would delete", value(h.client.Prune(t.Context(), true))(t), want)
	}
	value(h.store.Agent(t.Context(), ended.ID))(t)
	equal(t, "deleted", value(h.client.Prune(t.Context(), false))(t), want)
	failed(h.store.Agent(t.Context(), ended.ID))(t, "the agent is there")
	equal(t, "samples that are left", len(value(h.store.ContextSamples(t.Context(), daemon.SpanQuery{AgentIDs: []int64{lives.ID}, Until: time.Now()}))(t)), 0)
	equal(t, "once more", value(h.client.Prune(t.Context(), true))(t), daemon.PruneReport{})
}
