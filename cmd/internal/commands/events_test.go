package commands

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

func TestUIEventGist(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"cause": "SessionStart", "message": "Agent 7 waits."}`: "Agent 7 waits.",
		`{"from": "requested", "cause": "instruction queued"}`:   "instruction queued",
		`{"reason": "process_gone", "asked": true}`:              "its process is gone",
		`{"code": "timeout", "error": "Step timed out"}`:         "Step timed out",
		`{"registry": "idle"}`:                                   "",
		`{"tier": "high", "percent": 71.4}`:                      "its context is 71% full",
		`{"duration_ms": 12340}`:                                 "in 12.34 s",
		`{"title": "Add a roof", "template": "quick_fix"}`:       "Add a roof",
		`{"message": 7}`:                                         "",
		`null`:                                                   "",
	} {
		if got := gist([]byte(payload)); got != want {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	}
}

func TestUIEventLine(t *testing.T) {
	t.Parallel()
	now, id := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local), int64(3)
	e := daemon.Event{ID: 12, Type: "handoff_recorded", At: now, AgentID: &id, HandoffID: &id}
	if got, want := eventLine(e, "verified", now), "   12  05:06:07  handoff_recorded         handoff 3   verified"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	e.Type = "agent_ended"
	if got, want := eventLine(e, "", now), "   12  05:06:07  agent_ended              agent 3"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	e.Type, e.HandoffID, e.PipelineID = "step_done", nil, &id
	if got, want := eventLine(e, "", now), "   12  05:06:07  step_done                pipeline 3"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestUIMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	if got := moment(now.Add(-time.Minute), now); got != "05:05:07" {
		t.Errorf("today: %s", got)
	}
	if got := moment(now.AddDate(0, 0, -1), now); got != "2026-03-03 05:06:07" {
		t.Errorf("yesterday: %s", got)
	}
}
