//go:build e2e

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// marks presses Down in a dialog until it marks an answer. The CLI loses what is pressed within some 100 ms after it has
// drawn its first dialog (2.1.329), and goes from the last answer to the first.
func (r *claudeRig) marks(agentID int64, answer string) {
	r.t.Helper()
	var pressed time.Time
	r.await("the mark at "+answer, func() (bool, string) {
		shown := r.shown(agentID)
		if strings.Contains(shown, answer) {
			return true, shown
		}
		if time.Since(pressed) > time.Second {
			r.personPresses(agentID, tmux.Down)
			pressed = time.Now()
		}
		return false, shown
	})
}

// TestClaudeFirstStart: who has never started the CLI is led through its questions, and its first prompt is
// taken once they are answered. No hook tells of any of them.
func TestClaudeFirstStart(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, claudetest.Says("Hello."))
	r.home.Forget(t)
	r.start()
	a, err := r.client.CreateAgent(t.Context(), daemon.NewAgent{Persona: con, Cwd: r.work, Prompt: "Say hello to the folder."})
	if err != nil {
		t.Fatal(err)
	}
	r.awaitAsked(a.ID, "theme: which colours suit the terminal?")
	r.marks(a.ID, "❯   Dark mode")
	r.personPresses(a.ID, tmux.Enter)
	r.awaitAsked(a.ID, "security notes: press Enter to go on")
	r.personPresses(a.ID, tmux.Enter)
	r.awaitAsked(a.ID, trusts)
	r.marks(a.ID, "❯ Yes")
	r.personPresses(a.ID, tmux.Enter)
	r.awaitVerdict(a.ID, *a.FirstPromptID, daemon.Submitted)
	r.awaitState(a.ID, daemon.Idle)
	if n := len(r.heard(a.ID, "Say hello to the folder.")); n != 1 {
		t.Errorf("the model was told its prompt %d times", n)
	}
	if n := len(r.agentEvents(a.ID, "agent_failed")); n != 0 {
		t.Errorf("%d failures were told", n)
	}
}

// TestClaudeStepFirstStart: the prompt of a step stands on the CLI's command line, and outlives the question.
func TestClaudeStepFirstStart(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, claudetest.Says("## What Was Done\n\nThe roof is mended."))
	r.home.Trust(t)
	r.template("two", "developer", "reviewer")
	r.start()
	id := r.pipeline("two", roof).ID
	a := r.awaitRun(id, "its agent", func(p daemon.Pipeline) bool { return len(p.Steps[0].AgentIDs) > 0 }).Steps[0].AgentIDs[0]
	r.awaitAsked(a, trusts)
	r.marks(a, "❯ Yes")
	r.personPresses(a, tmux.Enter)
	r.awaitRun(id, "the next step", func(p daemon.Pipeline) bool { return p.Steps[0].Status == daemon.StepDone })
	if n := len(r.heard(a, "Mend the roof.")); n != 1 {
		t.Errorf("the model was told its task %d times", n)
	}
	if list := r.deliveries(a); len(list) > 1 { // the exit command alone
		t.Errorf("its prompt was typed as well: %+v", list)
	}
}
