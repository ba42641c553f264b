//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
)

// isSeenAndAsks: an agent asks a person of its own, and is answered from elsewhere. Who attaches sees the composer.
func isSeenAndAsks(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	long := strings.TrimSpace(strings.Repeat("a line\n", 60)) + " at the end"
	r.api.SetScript(claudetest.Ask("ask me", claudetest.Question(false), claudetest.Says(long)))
	for _, choice := range []string{"SQLite", "Chat about this"} {
		r.sendMessage(a.ID, "ask me")
		r.answerAs(a.ID, "question: Which database is to be used?", choice)
		if choice == "SQLite" {
			r.awaitLearned(a.ID, "SQLite")
		}
		r.awaitState(a.ID, daemon.Idle)
	}
	r.wantComposerSeen(a)
	return a.ID
}

// wantComposerSeen attaches from a small terminal. The CLI hides its cursor, so tmux alone would show the upper left
// corner of a pane that is larger than the terminal. The operator must see the composer and what they type.
func (r *claudeRig) wantComposerSeen(a daemon.Agent) {
	s := startInPane(r.rig, 80, 24, "agent", "attach", fmt.Sprint(a.ID))
	const typed = "do I see what I type?"
	s.press("-l", typed)
	s.awaitScreen("a line at the end", "❯\u00a0"+typed, "\n"+strings.Repeat("─", 80)+"\n", "manual mode on")
	r.takePicture(s, "attach-80x24")
	for range typed {
		s.press("BSpace")
	}
	s.awaitScreen("❯\u00a0\n")
	s.detachFrom()
	wantSize(r.rig, a, "200x50 manual ")
	s = startInPane(r.rig, 80, 24, "agent", "attach", fmt.Sprint(a.ID), "--keep-size")
	s.awaitScreen("a line")
	if shown := s.runTmux("capture-pane", "-p"); strings.Contains(shown, "manual mode on") {
		r.t.Errorf("a pane of 200x50 fits 80x24: the CLI shows its cursor now, or draws elsewhere:\n%s", shown)
	}
	s.detachFrom()
}

// trustFolder answers the CLI's question whether the folder is trusted, from elsewhere. Who is attached sees the question with
// its answers, and then the composer.
func (r *claudeRig) trustFolder(a daemon.Agent) {
	s := startInPane(r.rig, 80, 24, "agent", "attach", fmt.Sprint(a.ID))
	s.awaitScreen(" "+r.work+"\n", "Is this a project you created or one you trust? (Like your\n", "No, exit\n", "Yes, I trust this folder\n", "Enter to confirm")
	r.takePicture(s, "attach-trust-80x24")
	r.answerAs(a.ID, trusts, "Yes, I trust this folder")
	s.awaitScreen("❯\u00a0\n")
	s.detachFrom()
}

// takePicture keeps a picture of the operator's pane in the folder of pictures, if that is set.
func (r *claudeRig) takePicture(s *topPane, name string) {
	r.t.Helper()
	dir := os.Getenv("UNDERSTUDY_SHOTS")
	if dir == "" {
		return
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".txt"), []byte(s.runTmux("capture-pane", "-p")), 0o600)
	}
	if err != nil {
		r.t.Error(err)
	}
}
