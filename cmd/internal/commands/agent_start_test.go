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
	broke, gone, now := "its turn broke off when agent 3 ended: tell it to go on", "killed", time.Now()
	for _, c := range []struct {
		name       string
		began, now daemon.Agent
		want       string
	}{
		{"starting", daemon.Agent{}, daemon.Agent{ID: 4, State: daemon.Starting}, ""},
		{"resumed", daemon.Agent{Note: broke}, daemon.Agent{ID: 4, State: daemon.Starting, Note: broke}, ""},
		{"registered", daemon.Agent{}, daemon.Agent{ID: 4, State: daemon.Idle, RegisteredAt: &now, Note: "its composer holds a draft"}, ""},
		{"overdue", daemon.Agent{}, daemon.Agent{ID: 4, State: daemon.Starting, Note: "it did not register within 1m"}, "agent 4: it did not register within 1m: look at it with `understudy agent attach 4`"},
		{"resumed and overdue", daemon.Agent{Note: broke}, daemon.Agent{ID: 4, State: daemon.Starting, Note: "it did not register within 1m"}, "agent 4: it did not register within 1m: look at it with `understudy agent attach 4`"},
		{"ended", daemon.Agent{Note: broke}, daemon.Agent{ID: 4, State: daemon.Ended, EndedAt: &now, Note: broke, EndReason: &gone}, "agent 4 has ended: killed"},
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
