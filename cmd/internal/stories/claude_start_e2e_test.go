//go:build e2e

package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/sight"
)

// answerAs takes the choice whose label begins so.
func (r *claudeRig) answerAs(agentID int64, asks, choice string) {
	r.t.Helper()
	r.awaitState(agentID, daemon.Waiting)
	var d sight.Dialog
	var got daemon.DialogAnswer
	var err error
	r.awaitEvery(tickOfScreens, "the dialog "+asks, func() (bool, string) {
		if d, err = r.client.Dialog(r.t.Context(), agentID); err != nil || d.Name != asks {
			return false, fmt.Sprintf("%+v %v", d, err)
		}
		number := 1 + slices.IndexFunc(d.Choices, func(c sight.DialogChoice) bool { return strings.HasPrefix(c.Label, choice) })
		got, err = choose(r.rig, agentID, d.ID, number)
		return !isCode(err, daemon.CodeDialogChanged), fmt.Sprint(err) // the CLI still drew it anew, for a terminal of another size
	})
	if err != nil || got.State != daemon.DialogGone && got.State != daemon.DialogOther {
		r.t.Fatalf("%s: %+v, %+v %v", asks, d, got, err)
	}
	r.t.Logf("%s: %s after %s", asks, got.Words(), got.EndedAt.Sub(got.At))
}

// TestClaudeDialogsAreAnsweredFromElsewhere: a person who has never started the CLI is led through its questions, which no hook
// reports. They, and what the agent asks of its own, are answered by their choices, not by keys that somebody knows. The first
// arrow key may be lost, because the CLI has just drawn its dialog. Who attaches sees the question and the composer.
func TestClaudeDialogsAreAnsweredFromElsewhere(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("a line\n", 60)) + " at the end"
	r := newClaudeRig(t, claudetest.Ask("ask me", claudetest.Question(false), claudetest.Says(long)))
	r.home.Forget(t)
	r.start()
	a := r.createAgent(agents.NewAgent{Persona: con, Cwd: r.work, Prompt: "Say hello to the folder."})
	r.answerAs(a.ID, "theme: which colours suit the terminal?", "Light mode")
	r.answerAs(a.ID, "security notes: press Enter to go on", "Press Enter to continue")
	awaitAsked(r.rig, a.ID, trusts)
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
	for _, choice := range []string{"SQLite", "Chat about this"} {
		r.sendMessage(a.ID, "ask me")
		r.answerAs(a.ID, "question: Which database is to be used?", choice)
		if choice == "SQLite" {
			r.awaitLearned(a.ID, "SQLite")
		}
		r.awaitState(a.ID, daemon.Idle)
	}
}
