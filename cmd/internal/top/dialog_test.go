package top

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/sight"
)

// TestDialogScreen: x shows what the dialog says and offers; a digit selects, and Enter takes that; what an agent writes cannot steer
// the terminal; a late answer about another agent is dropped.
func TestDialogScreen(t *testing.T) {
	t.Parallel()
	m := opened(t, snapshot{agents: []daemon.Agent{agent(7, daemon.Waiting, 1), agent(8, daemon.Waiting, 1)}})
	m.w, m.h = 80, 24
	m.choose(m.find(key{kind: agentRow, id: 8}))
	pressed(m, "x")
	late := dialogMsg{asked: m.dialog.asked, dialog: sight.Dialog{AgentID: 8}}
	pressed(m, "esc")
	m.choose(m.find(key{kind: agentRow, id: 7}))
	if cmd := pressed(m, "x"); cmd == nil || m.screen != dialogScreen {
		t.Fatal("the screen is not open")
	}
	m.Update(late)
	if m.dialog.dialog != nil || m.dialog.agent != 7 {
		t.Error("a late answer about agent 8 is shown for agent 7")
	}
	d := sight.Dialog{AgentID: 7, ID: "f", Name: "trust", Text: "Trust\x1b[2J it?", Choices: []sight.DialogChoice{
		{Number: 1, Label: "No, exit", Selected: true}, {Number: 2, Label: "Yes, and switch to auto mode"}, {Number: 3, Label: "Type something", Input: true},
	}}
	m.Update(dialogMsg{asked: m.dialog.asked, dialog: d})
	if got := m.shows(); !strings.Contains(got, "Yes, and switch to auto mode") || strings.Contains(got, "\x1b[2J") || !strings.Contains(m.bare(), "1-9 choose") {
		t.Errorf("%s", got)
	}
	if cmd := pressed(m, "3"); cmd != nil || m.dialog.choice != 0 {
		t.Error("a choice that asks for a text was selected")
	}
	if cmd := pressed(m, "9", "2"); cmd != nil || m.dialog.choice != 2 || m.screen != dialogScreen {
		t.Errorf("selected %d", m.dialog.choice)
	}
	if got := m.bare(); !strings.Contains(got, "Enter takes 2, ‹Yes, and switch to auto mode›") {
		t.Errorf("%s", got)
	}
	if cmd := pressed(m, "enter"); cmd == nil || m.screen != listScreen || m.said != "answering the dialog of agent 7…" {
		t.Errorf("Enter: %q", m.said)
	}
	pressed(m, "x")
	d.Why = "its choices are not understood"
	m.Update(dialogMsg{asked: m.dialog.asked, dialog: d})
	if cmd := pressed(m, "1", "enter"); cmd != nil || m.screen != listScreen || !strings.Contains(strings.Join(m.dialogLines(80), ""), "not understood") {
		t.Error("a dialog that is not understood was answered")
	}
}
