package tell

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// stuck commits the notice that an agent has got into trouble.
func (s *telling) stuck(agent int64, code string) {
	s.rows.change(func() { s.rows.waits[agent] = true })
	s.add(event.Event{Type: event.AgentTrouble, AgentID: &agent, Notice: event.NoticeWaiting, Cause: event.CauseTrouble + code, Payload: event.Payload(map[string]any{
		"agent_name": fmt.Sprintf("con-%d", agent), "reported": "later", "message": fmt.Sprintf("Agent %d is in trouble.", agent)})})
}

// died commits the end of an agent with its tmux server.
func (s *telling) died(agent int64, tied string) {
	s.add(event.Event{Type: event.AgentEnded, AgentID: &agent, Alert: true, Cause: event.CauseServer + "1 2 /run/tmux.sock", Payload: event.Payload(map[string]any{
		"agent_name": fmt.Sprintf("con-%d", agent), "tied": tied, "tmux_socket": "/run/tmux.sock", "own_server": true})})
}

// last returns the message of the last notification.
func (s *telling) last() string {
	marks := s.marks()
	if len(marks) == 0 {
		return ""
	}
	return fmt.Sprint(marks[len(marks)-1]["message"])
}

// TestTroubleOfSeveralAgentsIsToldOnce: a usage limit stops all agents within seconds.
func TestTroubleOfSeveralAgentsIsToldOnce(t *testing.T) {
	tellers(t, func(s *telling) {
		for agent := range int64(6) {
			s.stuck(agent+1, "usage_limit")
			s.pass(time.Second)
		}
		s.stuck(7, "authentication_failed") // another kind
		s.stuck(8, "usage_limit")
		s.rows.change(func() { s.rows.waits[2] = false }) // a person has helped agent 2
		s.pass(5 * time.Second)
		s.shows("9s 6 agents in trouble, usage limit", "9s agent trouble (agent 7)")
		if got := s.marks()[0]["message"]; got != "6 agents are in trouble, usage limit ‹later›: 1 (con-1), 3 (con-3), 4 (con-4), 5 (con-5), 6 (con-6), 8 (con-8). "+
			"What to do about each: `understudy agent show ID`." {
			t.Errorf("told %q", got)
		}
		s.stuck(9, "usage_limit") // late, and held for causeGap: not one notification for each
		s.pass(20 * time.Second)
		s.stuck(10, "usage_limit")
		s.pass(time.Second)
		equal(t, "times that it was told", len(s.shown()), 2)
		s.pass(time.Minute)
		equal(t, "told", s.shown()[2:], []string{"1m9s 2 agents in trouble, usage limit"})
		s.settled("told spared told told told told told told told told")
	})
}

// TestOneAlertForADeadServer: one alert names the agents of the server, and the handoffs and pipelines that failed
// because of it, whoever committed those events, and when.
func TestOneAlertForADeadServer(t *testing.T) {
	tellers(t, func(s *telling) {
		cause, agent, handoff, later, pipeline := event.CauseServer+"1 2 /run/tmux.sock", int64(2), int64(31), int64(32), int64(41)
		for i, tied := range []string{"", "handoff 31", "pipeline 41", event.TiedNoSession, "", ""} {
			s.died(int64(i+1), tied)
		}
		s.fails(7) // of another cause: told at once
		s.shows("0s agent failed (agent 7)!")
		s.pass(time.Second)
		s.add(event.Event{Type: "handoff_failed", AgentID: &agent, HandoffID: &handoff, Alert: true, Cause: cause, Payload: json.RawMessage(`{"phase": "awaiting_document"}`)},
			event.Event{Type: "handoff_failed", AgentID: &agent, HandoffID: &later, Alert: true, Cause: cause, Payload: json.RawMessage(`{"phase": "briefing"}`)})
		s.stop() // killed before it told the end of the server
		s.settled("      told  ")
		s.pass(4 * time.Second)
		s.start() // the next daemon waits for more events of the cause
		s.pass(time.Second)
		s.add(event.Event{Type: "pipeline_failed", PipelineID: &pipeline, Alert: true, Cause: cause})
		s.pass(10 * time.Second)
		s.shows("0s agent failed (agent 7)!", "9s tmux server ended, and 6 agents with it!")
		const want = "The tmux server at /run/tmux.sock has ended, and 6 agents with it: 1 (con-1), 2 (con-2, handoff 31), 3 (con-3, pipeline 41), " +
			"4 (con-4, it never had a session), 5 (con-5), 6 (con-6). Pipeline 41 failed by it: `understudy pipeline resume ID`. " +
			"Handoff 32 failed by it, its record is kept: `understudy handoff retry ID`. " +
			"Handoff 31 failed by it, before its record: `understudy handoff show ID` says how to go on. " +
			"Start anew, for want of a session: agent 4, by `understudy agent start`. " +
			"Open sessions again: agent 1, 5, 6, by `understudy agent resume --all`. The next agent gets a new server."
		equal(t, "told", s.last(), want)
		s.settled(strings.TrimSpace(strings.Repeat("told ", 10)))
		equal(t, "merged in the event that says so", len(s.marks()[1]["merged"].([]any)), 8)
		s.died(8, "") // late
		s.pass(causeQuiet)
		if got := s.shown()[2:]; len(got) != 1 || !strings.Contains(s.last(), "and 1 agent with it: 8 (con-8).") {
			t.Errorf("told %q: %q", got, s.last())
		}
	})
}

// TestGatheringEnds: events of one cause that go on coming are told after causeLongest, and a clock that was set back
// delays nothing.
func TestGatheringEnds(t *testing.T) {
	tellers(t, func(s *telling) {
		for agent := range int64(25) {
			s.died(agent+1, "")
			s.pass(500 * time.Millisecond)
		}
		s.pass(causeQuiet)
		s.shows("10s tmux server ended, and 20 agents with it!", "15s tmux server ended, and 5 agents with it!")
		ahead := int64(99)
		s.add(event.Event{Type: event.AgentEnded, AgentID: &ahead, Alert: true, Cause: event.CauseServer + "3", At: time.Now().Add(time.Hour)})
		s.pass(causeQuiet)
		s.shows("10s tmux server ended, and 20 agents with it!", "15s tmux server ended, and 5 agents with it!", "18.5s tmux server ended, and 1 agent with it!")
	})
}

// TestNoticeAcrossAStepOfTheClock: a held notice is not too old because somebody set the clock an hour ahead.
func TestNoticeAcrossAStepOfTheClock(t *testing.T) {
	tellers(t, func(s *telling) {
		s.there.Begin(time.Now())
		s.done(1)
		s.done(1)
		s.ahead.Store(int64(time.Hour))
		s.pass(noticeGap)
		s.settled("told told")
	})
}
