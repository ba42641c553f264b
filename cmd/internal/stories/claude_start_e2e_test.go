//go:build e2e

package stories

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// markAnswer presses Down in a dialog until the answer is marked. The CLI (2.1.329) loses keys that come within about
// 100 ms after it has drawn its first dialog, and Down on the last answer marks the first. So marks presses again
// only after a time in which the CLI has read its keys on any machine.
func (r *claudeRig) markAnswer(agentID int64, answer string) {
	r.t.Helper()
	var pressed time.Time
	r.awaitEvery(tickOfScreens, "the mark at "+answer, func() (bool, string) {
		shown := r.shown(agentID)
		if strings.Contains(shown, answer) {
			return true, shown
		}
		if time.Since(pressed) > 20*time.Second {
			r.personPresses(agentID, tmux.Down)
			pressed = time.Now()
		}
		return false, shown
	})
}

// TestClaudeFirstStartTakesThePromptAfterTheQuestions: A person who has never started the CLI is led through its
// questions. No hook reports any of them. The CLI takes the first prompt once they are answered. Who attaches then
// sees what they type.
func TestClaudeFirstStartTakesThePromptAfterTheQuestions(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, claudetest.Says(strings.TrimSpace(strings.Repeat("a line\n", 60))+" at the end"))
	r.home.Forget(t)
	r.start()
	a := r.createAgent(daemon.NewAgent{Persona: con, Cwd: r.work, Prompt: "Say hello to the folder."})
	r.awaitAsked(a.ID, "theme: which colours suit the terminal?")
	r.markAnswer(a.ID, "❯   Dark mode")
	r.personPresses(a.ID, tmux.Enter)
	r.awaitAsked(a.ID, "security notes: press Enter to go on")
	r.personPresses(a.ID, tmux.Enter)
	r.awaitAsked(a.ID, trusts)
	r.trustFolder(a)
	r.awaitVerdict(a.ID, *a.FirstPromptID, daemon.Submitted)
	r.awaitState(a.ID, daemon.Idle)
	if n := len(r.heard(a.ID, "Say hello to the folder.")); n != 1 {
		t.Errorf("the model was told its prompt %d times", n)
	}
	if n := len(r.agentEvents(a.ID, "agent_failed")); n != 0 {
		t.Errorf("%d failures were told", n)
	}
	r.wantComposerSeen(r.getAgent(a.ID))
}

// TestClaudeDialogsAreAnsweredFromElsewhere: the questions of a first start and whether the folder is trusted, answered by their
// choices, not by keys that somebody knows. The first arrow key may be lost, because the CLI has just drawn its dialog.
func TestClaudeDialogsAreAnsweredFromElsewhere(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, claudetest.Says("Hello."))
	r.home.Forget(t)
	r.start()
	a := r.createAgent(daemon.NewAgent{Persona: con, Cwd: r.work, Prompt: "Say hello to the folder."})
	for _, q := range []struct{ asks, choice string }{
		{"theme: which colours suit the terminal?", "Light mode"},
		{"security notes: press Enter to go on", "Press Enter to continue"},
		{trusts, "Yes, I trust this folder"},
	} {
		r.awaitAsked(a.ID, q.asks)
		d, err := r.client.Dialog(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		number := 0
		for _, c := range d.Choices {
			if strings.HasPrefix(c.Label, q.choice) {
				number = c.Number
				break
			}
		}
		got, err := r.choose(a.ID, d.ID, number)
		if err != nil || got.State != daemon.DialogGone && got.State != daemon.DialogOther {
			t.Fatalf("%s: %+v, %+v %v", q.asks, d, got, err)
		}
		t.Logf("%s: %s after %s", q.asks, got.Words(), got.EndedAt.Sub(got.At))
	}
	r.awaitVerdict(a.ID, *a.FirstPromptID, daemon.Submitted)
	r.awaitState(a.ID, daemon.Idle)
	if n := len(r.heard(a.ID, "Say hello to the folder.")); n != 1 {
		t.Errorf("the model was told its prompt %d times", n)
	}
}
