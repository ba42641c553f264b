package tell

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// TestSparedNoticesHoldNothingUp: the teller passes over a page full of notices that are not told, at once.
func TestSparedNoticesHoldNothingUp(t *testing.T) {
	tellers(t, func(s *telling) {
		s.pass(time.Second) // the teller has nothing to tell and waits
		var spared []event.Event
		for agent := range int64(alertsAtOnce) { // none of these agents waits
			spared = append(spared, event.Event{Type: "agent_waiting", AgentID: &agent, Notice: event.NoticeWaiting})
		}
		behind := int64(alertsAtOnce)
		s.add(append(spared, event.Event{Type: "handoff_completed", AgentID: &behind, Notice: event.NoticeCompleted})...)
		s.shows("1s handoff completed (agent 200)")
	})
}
