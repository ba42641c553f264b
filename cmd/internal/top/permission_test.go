package top

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/daemon"
)

// TestKeysAnswerAPermission: y first shows all that is asked, and allows that when it was there long enough to be read; Y asks about
// its rule, and n takes a sentence.
func TestKeysAnswerAPermission(t *testing.T) {
	t.Parallel()
	a := agent(1, daemon.Waiting, 1)
	a.WaitsFor = "permission for Bash: rm -r build"
	s := seen(snapshot{agents: []daemon.Agent{a}})
	s.needs[0].Permissions = []daemon.Permission{{
		ID: 7, AgentID: 1, Tool: "Bash", Subject: "rm -r build", Description: "Clean", Shown: "rm -r build\ntimeout: 5", Whole: true,
		Digest: "d", Rule: "Bash(rm -r build)", State: daemon.PermissionOpen,
	}}
	m := opened(t, snapshot{agents: s.agents})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	m.Update(freshMsg(s))
	wantShown(t, m, "y allow  n deny  Y allow always", "y shows all of it")
	pressed(m, "y")
	if m.form != nil || m.screen != detailScreen || !strings.Contains(m.bare(), "timeout: 5") {
		t.Fatalf("y did not show what is asked:\n%s", m.shows())
	}
	for range 3 { // the key is held down, also for long
		pressed(m, "y")
		equal(t, "said", m.said, "a moment: read what it asks, then press y again")
		m.detail.readAt = time.Now().Add(-toRead)
	}
	for key, want := range map[string]action{
		"Y": {verb: allowAgent}, "n": {verb: denyCall, text: "not now"},
	} {
		m.detail.readAt, m.pressed = time.Now().Add(-toRead), time.Time{}
		pressed(m, key)
		if key == "n" {
			pressed(m, "not now")
		}
		if m.form == nil || !strings.Contains(m.bare(), "rm -r build") {
			t.Fatalf("%s asks nothing:\n%s", key, m.shows())
		}
		if got := m.form.filled(); got.verb != want.verb || got.text != want.text || got.asked.Digest != "d" || got.asked.ID != 7 {
			t.Errorf("%s: %+v", key, got)
		}
		if cmd := pressed(m, "enter"); cmd == nil || m.form != nil || m.said != "answering permission 7…" {
			t.Errorf("%s: said %q", key, m.said)
		}
	}
	m.said, m.detail.readAt, m.pressed = "", time.Now().Add(-toRead), time.Time{}
	s.needs[0].Permissions[0].ID = 8 // another one takes its place while the operator presses
	m.Update(freshMsg(s))
	pressed(m, "y")
	equal(t, "said", m.said, "it asks this now: read it, then press y again")
	m.detail.readAt, m.pressed = time.Now().Add(-toRead), time.Time{}
	if cmd := pressed(m, "y"); cmd == nil || m.form != nil || m.said != "answering permission 8…" {
		t.Errorf("y: said %q", m.said)
	}
	s.needs[0].Permissions[0].Whole, s.needs[0].Permissions[0].Rule = false, ""
	m = opened(t, snapshot{agents: s.agents})
	m.Update(freshMsg(s))
	pressed(m, "y")
	if !m.wrong || !strings.Contains(m.said, "in the agent's pane") {
		t.Errorf("too long: said %q", m.said)
	}
}
