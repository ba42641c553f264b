package top

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/daemon"
)

// TestKeysAnswerAPermission: y first shows all that is asked, and then asks whether to allow that; n takes a sentence.
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
	if got := m.shows(); !strings.Contains(escapes.ReplaceAllString(got, ""), "y allow  n deny  Y allow always") {
		t.Errorf("keys:\n%s", got)
	}
	pressed(m, "y")
	if m.form != nil || m.screen != detailScreen || !strings.Contains(escapes.ReplaceAllString(m.shows(), ""), "timeout: 5") {
		t.Fatalf("y did not show what is asked:\n%s", m.shows())
	}
	t.Logf("details:\n%s", escapes.ReplaceAllString(m.shows(), ""))
	for key, want := range map[string]action{
		"y": {verb: allowOnce}, "Y": {verb: allowAgent}, "n": {verb: denyCall, text: "not now"},
	} {
		pressed(m, key)
		if key == "n" {
			pressed(m, "not now")
		}
		t.Logf("form of %s:\n%s", key, escapes.ReplaceAllString(m.shows(), ""))
		if m.form == nil || !strings.Contains(escapes.ReplaceAllString(m.shows(), ""), "rm -r build") {
			t.Fatalf("%s asks nothing:\n%s", key, m.shows())
		}
		if got := m.form.filled(); got.verb != want.verb || got.text != want.text || got.asked.Digest != "d" || got.asked.ID != 7 {
			t.Errorf("%s: %+v", key, got)
		}
		if cmd := pressed(m, "enter"); cmd == nil || m.form != nil || m.said != "answering permission 7…" {
			t.Errorf("%s: said %q", key, m.said)
		}
	}
	s.needs[0].Permissions[0].Whole, s.needs[0].Permissions[0].Rule = false, ""
	m = opened(t, snapshot{agents: s.agents})
	m.Update(freshMsg(s))
	pressed(m, "y")
	if !m.wrong || !strings.Contains(m.said, "in the agent's pane") {
		t.Errorf("too long: said %q", m.said)
	}
}
