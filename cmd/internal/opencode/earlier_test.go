package opencode

import (
	"testing"
	"time"
)

// TestFollowLeavesOutAnEarlierAgent: the prompts that the first look at a session finds from before the agent are an earlier agent's. Later
// prompts are reported, although the clock was set back to before the agent, and another daemon follows.
func TestFollowLeavesOutAnEarlierAgent(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		stop := s.follow()
		rest(time.Second)
		id := s.sessionID(t)
		s.Type(id, "the earlier agent's")
		rest(time.Second)
		_ = stop()
		s.link.Session, s.link.Began, s.events = id, time.Now(), nil
		stop = s.follow()
		rest(time.Second)
		equal(t, "reports … before the first prompt", s.told(), []string{"SessionStart"})
		s.link.Began = time.Now().Add(time.Hour) // as if the clock had been set back
		s.Type(id, "one more thing")
		rest(time.Second)
		_ = stop()
		s.events = nil
		stop = s.follow()
		rest(time.Second)
		equal(t, "reports", s.told(), []string{"SessionStart", "UserPromptSubmit", "Stop"})
		_ = stop()
	})
}
