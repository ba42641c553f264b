//go:build e2e

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
)

// TestClaudeAttach: the CLI hides its cursor, so tmux would show the upper left corner of a pane that is
// larger than the terminal. Who attaches sees the composer and what they type.
func TestClaudeAttach(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, claudetest.Says(strings.TrimSpace(strings.Repeat("a line\n", 60))+" at the end"))
	r.start()
	a := r.agent(con)
	r.talk(a.ID, "hello")
	for _, size := range [][2]int{{80, 24}, {140, 40}} {
		s := r.inPane(size[0], size[1], "agent", "attach", fmt.Sprint(a.ID))
		const typed = "do I see what I type?"
		s.press("-l", typed)
		rule := "\n" + strings.Repeat("─", size[0]) + "\n"
		s.awaitScreen("a line at the end", "❯\u00a0"+typed, rule, "manual mode on")
		r.shot(s, fmt.Sprintf("attach-%dx%d", size[0], size[1]))
		for range typed {
			s.press("BSpace")
		}
		s.awaitScreen("❯\u00a0\n")
		s.detachesFrom()
		r.wantSize(a, "200x50 manual ")
	}
	s := r.inPane(80, 24, "agent", "attach", fmt.Sprint(a.ID), "--keep-size")
	s.awaitScreen("a line")
	if shown := s.tell("capture-pane", "-p"); strings.Contains(shown, "manual mode on") {
		t.Errorf("a pane of 200x50 fits 80x24: the CLI shows its cursor now, or draws elsewhere:\n%s", shown)
	}
	s.detachesFrom()
}

// TestClaudeAttachTrust: the question whether the folder is trusted is there with its answers.
func TestClaudeAttachTrust(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, obeys)
	r.home.Trust(t)
	r.start()
	a, err := r.client.CreateAgent(t.Context(), daemon.NewAgent{Persona: con, Cwd: r.work})
	if err != nil {
		t.Fatal(err)
	}
	a = r.awaitAgent(a.ID, "its pane", func(a daemon.Agent) bool { return a.HasPane() })
	r.awaitShown(a.ID, "trust this folder")
	s := r.inPane(80, 24, "agent", "attach", fmt.Sprint(a.ID))
	s.awaitScreen(" "+r.work+"\n", "Is this a project you created or one you trust? (Like your\n", "No, exit\n", "Yes, I trust this folder\n", "Enter to confirm")
	r.shot(s, "attach-trust-80x24")
	s.press("Down")
	s.awaitScreen("❯ Yes, I trust")
	s.press("Enter")
	r.awaitState(a.ID, daemon.Idle)
	s.awaitScreen("❯\u00a0", "manual mode on")
	s.detachesFrom()
}

// TestClaudeSmallPanes: a handoff works in panes of the least size that one can start with.
func TestClaudeSmallPanes(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, obeys)
	r.start()
	a, err := r.client.CreateAgent(t.Context(), daemon.NewAgent{Persona: con, Cwd: r.work, Columns: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	a = r.awaitState(a.ID, daemon.Idle)
	r.talk(a.ID, "hello")
	h := r.awaitPhase(r.handoff(a.ID), daemon.Completed)
	r.takenOver(h)
	r.wantNoDialog(a.ID)
	r.wantSize(r.getAgent(*h.SuccessorID), "80x24 manual ")
}

// shot keeps what an operator's pane shows where the pictures are kept, if they are.
func (r *claudeRig) shot(s *topPane, name string) {
	r.t.Helper()
	dir := os.Getenv("UNDERSTUDY_SHOTS")
	if dir == "" {
		return
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".txt"), []byte(s.tell("capture-pane", "-p")), 0o600)
	}
	if err != nil {
		r.t.Error(err)
	}
}
