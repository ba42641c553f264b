package daemon

import (
	"testing"
	"time"
)

// TestSparedNoticesHoldNothingUp: a page full of notices that nobody is told of is passed over at once.
func TestSparedNoticesHoldNothingUp(t *testing.T) {
	tellers(t, func(s *telling) {
		s.pass(time.Second) // it has nothing to tell and waits
		var spared []Event
		for agent := range int64(alertsAtOnce) { // they do not wait, for there are no such agents
			spared = append(spared, Event{Type: "agent_waiting", AgentID: &agent, Notice: NoticeWaiting})
		}
		behind := int64(alertsAtOnce)
		s.add(append(spared, Event{Type: "handoff_completed", AgentID: &behind, Notice: NoticeCompleted})...)
		s.shows("1s handoff completed (agent 200)")
	})
}
