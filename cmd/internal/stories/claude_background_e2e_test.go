//go:build e2e

package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// goesOnInTheBackground: a person opens Claude Code's agents view in the agent's pane. The agent goes on as the process in
// the background: the operator is told once, a text waits until the person has closed the view, and a handoff passes the
// work on once and leaves no process behind.
func goesOnInTheBackground(r *runtimeRig, a daemon.Agent) int64 {
	r.talk(a.ID, "hello before the view")
	was, pane := r.agentRow(a.ID), r.pane(a.ID).Ref
	moved := r.moveToBackground(a.ID)
	if moved.EndedAt != nil || moved.PID == was.PID || !r.alive(was.PID) {
		r.t.Errorf("agent %+v in the background, was %+v", moved, was)
	}
	dl := r.sendMessage(a.ID, "mind the view")
	r.wantUntyped(a.ID, "mind the view")
	r.personPresses(a.ID, tmux.Escape)
	r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
	r.awaitAsked("mind the view")
	r.wantOnce("mind the view")
	r.awaitHooks(a.ID, hooks.Stop, 2)
	r.awaitState(a.ID, daemon.Idle)
	r.awaitAgent(a.ID, "the session of the background", func(a daemon.Agent) bool { return *a.SessionID != *was.SessionID })

	r.resetExperience()
	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	r.awaitAsked("hand over your work")
	r.wantOnce("hand over your work")
	r.awaitAsked("you take over from agent")
	r.wantOnce("you take over from agent")
	r.await("the processes of the outgoing agent are gone", func() (bool, string) { return !r.alive(moved.PID) && !r.alive(was.PID), r.report() })
	r.await("the pane of the outgoing agent is gone", func() (bool, string) {
		shown, err := r.tmux.Capture(r.t.Context(), 0, false, pane)
		return err == nil && len(shown) == 0, fmt.Sprint(shown, err)
	})
	if n := len(r.agentEvents(a.ID, "agent_in_background")); n != 1 {
		r.t.Errorf("the operator was told %d times", n)
	}
	return *h.SuccessorID
}

// isTakenBackFromTheBackground: the person leaves the agents view, and the pane is closed. The agent lives on and says how it
// is taken back. After stop and resume, a pane has the session, with all that was said.
func isTakenBackFromTheBackground(r *runtimeRig, a daemon.Agent) int64 {
	r.talk(a.ID, "remember the number 4711")
	view := r.agentRow(a.ID).PID
	moved := r.moveToBackground(a.ID)
	r.personPresses(a.ID, tmux.CtrlC, tmux.CtrlC)
	r.await("the end of the view", func() (bool, string) { return !r.alive(view), r.report() })
	now := r.awaitAgent(a.ID, "no pane", func(a daemon.Agent) bool { return !a.HasPane() && a.Note != "" })
	if !now.Active() || !r.alive(moved.PID) {
		r.t.Errorf("agent %+v has ended with its view", now)
	}
	r.await("the operator is told what to do", func() (bool, string) {
		told := r.agentEvents(a.ID, "operator_notified")
		return slices.ContainsFunc(told, func(e event.Event) bool {
			return strings.Contains(field(r.t, e, "message").(string), "understudy agent resume")
		}), fmt.Sprint(r.agentEvents(a.ID, "agent_in_background"))
	})
	r.stopAgent(a.ID, false)
	r.awaitState(a.ID, daemon.Ended)
	again, err := r.client.ResumeAgent(r.t.Context(), a.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	r.awaitState(again.ID, daemon.Idle)
	r.talk(again.ID, "which number was it?")
	requests := r.api.Requests()
	if said := strings.Join(requests[len(requests)-1].UserTexts(), "\n"); !strings.Contains(said, "remember the number 4711") {
		r.t.Errorf("the resumed model knows %.500q", said)
	}
	if r.alive(moved.PID) || r.alive(view) {
		r.t.Error("a process of the old session still runs")
	}
	return again.ID
}

// moveToBackground opens the agents view and waits until the daemon has followed the session.
func (r *runtimeRig) moveToBackground(agentID int64) daemon.Agent {
	r.t.Helper()
	was := r.agentRow(agentID)
	r.personPresses(agentID, tmux.Left)
	r.await("another process", func() (bool, string) { return r.agentRow(agentID).PID != was.PID, r.report() })
	r.awaitAlertEvent("agent_in_background")
	return r.agentRow(agentID)
}

// TestClaudeInBackground: the agents view.
func TestClaudeInBackground(t *testing.T) {
	for _, c := range runtimeCases {
		if c.name == "claude" {
			newRuntimeRig(t, c).tell(t, []runtimeStory{
				{"handoff", goesOnInTheBackground, nil}, {"resume", isTakenBackFromTheBackground, nil},
			})
		}
	}
}
