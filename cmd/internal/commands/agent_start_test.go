package commands

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestWhatKeepsAnAgentFromStarting: an agent that opens a session again whose turn broke off has a note from its beginning, and starts
// all the same.
func TestWhatKeepsAnAgentFromStarting(t *testing.T) {
	t.Parallel()
	held := func(h daemon.Hold) *daemon.Hold { return &h }
	broke := held(daemon.Hold{Kind: daemon.HoldBrokeOff, HoldDetail: daemon.HoldDetail{AgentID: 3}})
	late := held(daemon.Hold{Kind: daemon.HoldNotRegistered, HoldDetail: daemon.HoldDetail{Limit: "1m"}})
	gone, now := "killed", time.Now()
	for _, c := range []struct {
		name       string
		began, now daemon.Agent
		want       string
	}{
		{"starting", daemon.Agent{}, daemon.Agent{ID: 4, State: daemon.Starting}, ""},
		{"resumed", daemon.Agent{Hold: broke}, daemon.Agent{ID: 4, State: daemon.Starting, Hold: broke}, ""},
		{"registered", daemon.Agent{}, daemon.Agent{ID: 4, State: daemon.Idle, RegisteredAt: &now, Hold: held(daemon.Hold{Kind: daemon.HoldDraft})}, ""},
		{"overdue", daemon.Agent{}, daemon.Agent{ID: 4, State: daemon.Starting, Hold: late, Note: late.Words()}, "agent 4: it did not register within 1m: look at it with `understudy agent attach 4`"},
		{"resumed and overdue", daemon.Agent{Hold: broke}, daemon.Agent{ID: 4, State: daemon.Starting, Hold: late, Note: late.Words()}, "agent 4: it did not register within 1m: look at it with `understudy agent attach 4`"},
		{"ended", daemon.Agent{Hold: broke}, daemon.Agent{ID: 4, State: daemon.Ended, AgentEnd: daemon.AgentEnd{EndedAt: &now, EndReason: &gone}, Hold: broke}, "agent 4 has ended: killed"},
	} {
		got := ""
		if err := notStarting(&c.began, &c.now); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
