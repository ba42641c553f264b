package top

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/worktree"
)

// TestDialogScreen: x shows what the dialog says and offers; a digit selects, and Enter takes that; what an agent writes cannot steer
// the terminal; a late answer about another agent is dropped.
func TestDialogScreen(t *testing.T) {
	t.Parallel()
	m := opened(t, snapshot{agents: []daemon.Agent{agent(7, daemon.Waiting, 1), agent(8, daemon.Waiting, 1)}})
	m.w, m.h = 80, 24
	m.choose(m.find(key{kind: agentRow, id: 8}))
	pressed(m, "x")
	late := replyMsg[sight.Dialog]{asked: m.dialog.asked, said: sight.Dialog{AgentID: 8}}
	pressed(m, "esc")
	m.choose(m.find(key{kind: agentRow, id: 7}))
	if cmd := pressed(m, "x"); cmd == nil || m.screen != dialogScreen {
		t.Fatal("the screen is not open")
	}
	m.Update(late)
	if m.dialog.said != nil || m.dialog.agent != 7 {
		t.Error("a late answer about agent 8 is shown for agent 7")
	}
	d := sight.Dialog{AgentID: 7, ID: "f", Name: "trust", Text: "Trust\x1b[2J it?", Choices: []sight.DialogChoice{
		{Number: 1, Label: "No, exit", Selected: true}, {Number: 2, Label: "Yes, and switch to auto mode"}, {Number: 3, Label: "Type something", Input: true},
	}}
	m.Update(replyMsg[sight.Dialog]{asked: m.dialog.asked, said: d})
	if got := m.shows(); !strings.Contains(got, "Yes, and switch to auto mode") || strings.Contains(got, "\x1b[2J") || !strings.Contains(m.bare(), "1-9 choose") {
		t.Errorf("%s", got)
	}
	if cmd := pressed(m, "3"); cmd != nil || m.dialog.choice != 0 {
		t.Error("a choice that asks for a text was selected")
	}
	if cmd := pressed(m, "9", "2"); cmd != nil || m.dialog.choice != 2 || m.screen != dialogScreen {
		t.Errorf("selected %d", m.dialog.choice)
	}
	wantShown(t, m, "Enter takes 2, ‹Yes, and switch to auto mode›")
	if cmd := pressed(m, "enter"); cmd == nil || m.screen != listScreen || m.said != "answering the dialog of agent 7…" {
		t.Errorf("Enter: %q", m.said)
	}
	pressed(m, "x")
	d.Why = "its choices are not understood"
	m.Update(replyMsg[sight.Dialog]{asked: m.dialog.asked, said: d})
	if cmd := pressed(m, "1", "enter"); cmd != nil || m.screen != listScreen || !strings.Contains(strings.Join(m.dialogLines(80), ""), "not understood") {
		t.Error("a dialog that is not understood was answered")
	}
}

// TestDiffScreen: d shows what has changed in the agent's directory; what files are called and hold cannot steer the
// terminal; a late answer about another agent is dropped.
func TestDiffScreen(t *testing.T) {
	m := opened(t, snapshot{agents: []daemon.Agent{agent(7, daemon.Idle, 1), agent(8, daemon.Idle, 1)}})
	if cmd := m.openDiff(8); cmd == nil || m.screen != diffScreen {
		t.Fatal("the screen is not open")
	}
	late := replyMsg[agents.AgentDiff]{asked: m.diff.asked, said: agents.AgentDiff{AgentID: 8}}
	pressed(m, "esc")
	m.choose(m.find(key{kind: agentRow, id: 7}))
	pressed(m, "d")
	m.Update(late)
	if m.diff.said != nil || m.diff.agent != 7 {
		t.Error("a late answer about agent 8 is shown for agent 7")
	}
	m.Update(replyMsg[agents.AgentDiff]{asked: m.diff.asked, said: agents.AgentDiff{AgentID: 7, AgentName: "con", Notes: []string{"Shared."}, Diff: worktree.Diff{FileCount: 1, Files: []worktree.FileDiff{{
		Path: "a\x1b]0;x\x07\n", Status: "modified", Added: 1, Deleted: 1,
		Hunks: []worktree.Hunk{{OldStart: 3, NewStart: 3, Lines: []string{"-\told\x1b[2J", "+new"}}},
	}}}}})
	got := strings.Join(m.diffLines(80), "\n")
	holds(t, "the dialog", got, "1 file changed", "Shared.", "modified", "+1 -1", "-    old", "+new")
	if strings.Contains(got, "\x1b]") || strings.Contains(got, "\x1b[2J") {
		t.Errorf("a file steers the terminal: %q", got)
	}
	m.w, m.h = 80, 24
	for _, line := range m.screenLines() {
		if fit.Width(line) > 80 && !strings.Contains(line, "\x1b") {
			t.Errorf("too wide: %q", line)
		}
	}
	if pressed(m, "d"); m.screen != listScreen {
		t.Error("d does not lead back to the list")
	}
}
