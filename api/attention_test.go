package api

import (
	"net/http"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestAttention: what needs a person is told with the rows that it is about, to those who may know of all agents.
func TestAttention(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	equal(t, "needs of nobody", len(value(h.client.Attention(t.Context()))(t)), 0)
	h.agent(away)
	a := h.agent(func(a *daemon.Agent) {
		away(a)
		a.State, a.WaitsFor, a.StateAt = daemon.Waiting, "permission for Bash: ls", a.CreatedAt
	})
	list := value(h.client.Attention(t.Context()))(t)
	if len(list) != 1 || list[0].Why != "it asks for permission for Bash: ls" || list[0].Agent == nil || list[0].Agent.ID != a.ID || list[0].Handoff != nil {
		t.Errorf("got %+v, want agent %d", list, a.ID)
	}
	h.mainDoor().do(http.MethodGet, "/api/attention?limit=3", "").wants(t, "a parameter that there is not", http.StatusBadRequest, "unknown_parameter")
	if count := value(h.client.AttentionCount(t.Context()))(t); count.Text != "1 waits" || len(count.Parts) != 1 {
		t.Errorf("counted %+v", count)
	}
}
