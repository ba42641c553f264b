package intake

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/hooks"
)

// TestSessionName: an agent that registers by itself gets a name that its successor can be started with.
func TestSessionName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ title, cwd, want string }{
		{"  fix the parser ", "/w/shed", "fix the parser"},
		{"", "/w/shed", "shed"},
		{strings.Repeat("x", agents.MaxName), "/w/shed", strings.Repeat("x", agents.MaxName)},
		{strings.Repeat("x", agents.MaxName+1), "/w/shed", "shed"},
		{"two\nlines", "/w/shed", "shed"},
		{"a\x1b[201~b", "/w/shed", "shed"},
		{"a\xff", "/w/shed", "shed"},
		{"a\u202eb", "/w/shed", "shed"},
		{"a\u200bb", "/w/shed", "shed"},
		{"a\u2028b", "/w/shed", "shed"},
		{"a\u200db", "/w/shed", "a\u200db"}, // a joiner is part of many emoji
		{" ", "/w/a\x07b", "agent"},
		{"", "/w/" + strings.Repeat("y", agents.MaxName+1), "agent"},
	} {
		got := sessionName(hooks.Payload{SessionTitle: tt.title, CWD: tt.cwd})
		if got != tt.want || daemon.CheckLine("name", got, agents.MaxName) != nil {
			t.Errorf("title %q in %q: %q, want %q", tt.title, tt.cwd, got, tt.want)
		}
	}
}

// TestLaneThatKeepsFailingIsToldOnce: such a lane was once tried each second, for ever and silently.
func TestLaneThatKeepsFailingIsToldOnce(t *testing.T) {
	t.Parallel()
	s := &brokenStore{err: errors.New("agent 7: row is odd.")}
	d := New(engine.Config{Host: "h", Store: s, Log: slog.New(slog.DiscardHandler)})
	try := func(n, alerts int) {
		t.Helper()
		for range n {
			equal(t, "tried again after …, want a second", d.RunLane(t.Context(), engine.LaneOf(7)), time.Second)
		}
		if len(s.events) != alerts {
			t.Fatalf("%d alerts, want %d", len(s.events), alerts)
		}
	}
	try(engine.StuckAfter-1, 0)
	try(1, 1)
	try(3*engine.StuckAfter, 1) // told once
	e := s.events[0]
	if e.Type != "agent_stuck" || !e.Alert || *e.AgentID != 7 || !strings.Contains(string(e.Payload), "row is odd. It is tried again") {
		t.Errorf("alert %+v: %s", e, e.Payload)
	}
	d.ClearLaneErrors(engine.LaneOf(7))
	try(engine.StuckAfter-1, 1)
	try(1, 2)
	// ErrMoved is no error to count: another writer was first.
	s.err = daemon.ErrMoved
	d.ClearLaneErrors(engine.LaneOf(7))
	for range 2 * engine.StuckAfter {
		d.RunLane(t.Context(), engine.LaneOf(7))
	}
	equal(t, "alerts after races", len(s.events), 2)
}
