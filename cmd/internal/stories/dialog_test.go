package stories

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/sight"
)

// startAsking starts an agent that asks whether its folder is trusted, and returns it with the dialog.
func startAsking(r *rig) (daemon.Agent, sight.Dialog) {
	r.t.Helper()
	r.misbehave("trust")
	a, err := r.client.CreateAgent(r.t.Context(), agents.NewAgent{Persona: con, Cwd: r.work})
	if err != nil {
		r.t.Fatal(err)
	}
	a = awaitAsked(r, a.ID, trusts)
	d, err := r.client.Dialog(r.t.Context(), a.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return a, d
}

func choose(r *rig, agentID int64, dialog string, choice int) (daemon.DialogAnswer, error) {
	return r.client.AnswerDialog(r.t.Context(), agentID, dialog, choice)
}

// TestDialogIsAnsweredOnce: a terminal shows a dialog, and takes a choice of it while that very dialog is open. Of two people at once, the second
// one is told that it has been answered.
func TestDialogIsAnsweredOnce(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a, d := startAsking(r)
		var labels []string
		for _, c := range d.Choices {
			labels = append(labels, fmt.Sprint(c.Number, " ", c.Label, " ", c.Selected))
		}
		if want := []string{"1 No, exit true", "2 Yes, I trust this folder false"}; !slices.Equal(labels, want) || d.Why != "" || d.Name != trusts ||
			!strings.Contains(d.Text, "Accessing workspace:") || d.ID == "" {
			t.Errorf("%+v", d)
		}
		run := func(code int, part string, args ...string) {
			t.Helper()
			s := sit(r, false, append([]string{"agent", "dialog", "1"}, args...)...)
			s.wantExit(code)
			s.awaitPrinted(part, 1)
		}
		run(commands.ExitDone, "› 1. No, exit\r?\n  2. Yes, I trust this folder\r?\n\r?\ntake one: `understudy agent dialog 1 --choose N")
		run(commands.ExitFailed, "choice must be from 1 to 2", "--choose", "7")
		run(commands.ExitFailed, "shows another dialog now", "--choose", "2", "--dialog", "another")

		var both sync.WaitGroup
		errs, answers := make([]error, 2), make([]daemon.DialogAnswer, 2)
		for i := range errs {
			both.Go(func() { answers[i], errs[i] = choose(r, a.ID, d.ID, 2) })
		}
		both.Wait()
		first := slices.Index(errs, nil)
		if first < 0 || errs[1-first] == nil {
			t.Fatalf("%v: want one that counts", errs)
		}
		wantCode(t, errs[1-first], daemon.CodeDialogAnswered)
		if !strings.Contains(errs[1-first].Error(), "has been answered: choice 2, ‹Yes, I trust this folder›") {
			t.Errorf("the second one was told %v", errs[1-first])
		}
		if got := answers[first]; got.State != daemon.DialogGone || got.From == "" || got.EndedAt == nil || got.Label != labels[1][2:len(labels[1])-6] {
			t.Errorf("%+v", got)
		}
		a = r.awaitAgent(a.ID, "registered", func(a daemon.Agent) bool { return a.RegisteredAt != nil && a.State == daemon.Idle })
		if a.DialogAnswer == nil || a.DialogAnswer.State != daemon.DialogGone {
			t.Errorf("%+v", a.DialogAnswer)
		}
		run(commands.ExitFailed, "has been answered", "--choose", "2", "--dialog", d.ID)
		run(commands.ExitFailed, "Agent 1 shows no dialog")
		for _, e := range []string{"agent_dialog_answered", "agent_dialog_ended"} {
			list := r.agentEvents(a.ID, e)
			if len(list) != 1 || !strings.Contains(list[0].Words(), "trust this folder") || list[0].Alert {
				t.Errorf("%s: %+v", e, list)
			}
		}
	})
}

// TestDialogOfAPermissionIsAnsweredAsOne: the dialog of a permission that is held is shown, and answered as a permission only. When
// the hook has gone, the dialog is answered as every other one.
func TestDialogOfAPermissionIsAnsweredAsOne(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Permissions.Hold = 5 * time.Second
		r.start()
		a := r.startAgent(con)
		p := askToDeploy(r, a.ID)
		d, err := r.client.Dialog(t.Context(), a.ID)
		if err != nil || !strings.Contains(d.Why, fmt.Sprintf("permission show %d", p.ID)) || len(d.Choices) != 3 {
			t.Errorf("%+v %v", d, err)
		}
		_, err = choose(r, a.ID, d.ID, 3)
		wantCode(t, err, daemon.CodeDialogIsPermission)
		awaitOutcome(r, p.ID, daemon.PermissionUnanswered)
		if d, err = r.client.Dialog(t.Context(), a.ID); err != nil || d.Why != "" {
			t.Fatalf("%+v %v", d, err)
		}
		if got, err := choose(r, a.ID, d.ID, 3); err != nil || got.State != daemon.DialogGone || got.Label != "No" {
			t.Errorf("%+v %v", got, err)
		}
		r.awaitState(a.ID, daemon.Idle)
	})
}
