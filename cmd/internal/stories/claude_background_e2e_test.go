//go:build e2e

package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux"
)

// isTakenBackFromTheBackground: the person leaves the agents view, and the pane is closed. The agent lives on and says how it
// is taken back. After stop and resume, a pane has the session, with all that was said.
func isTakenBackFromTheBackground(r *runtimeRig, a daemon.Agent) int64 {
	r.talk(a.ID, "remember the number 4711")
	view := agentRow(r.rig, a.ID).PID
	moved := r.moveToBackground(a.ID)
	r.personPresses(a.ID, tmux.CtrlC, tmux.CtrlC)
	r.await("the end of the view", func() (bool, string) { return !alive(view), r.report() })
	now := r.awaitAgent(a.ID, "no pane", func(a daemon.Agent) bool { return !a.HasPane() && a.Note != "" })
	if !now.Active() || !alive(moved.PID) {
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
	must(r.t, err)
	r.awaitState(again.ID, daemon.Idle)
	r.talk(again.ID, "which number was it?")
	requests := r.api.Requests()
	if said := strings.Join(requests[len(requests)-1].UserTexts(), "\n"); !strings.Contains(said, "remember the number 4711") {
		r.t.Errorf("the resumed model knows %.500q", said)
	}
	if alive(moved.PID) || alive(view) {
		r.t.Error("a process of the old session still runs")
	}
	return again.ID
}

// moveToBackground opens the agents view and waits until the daemon has followed the session.
func (r *runtimeRig) moveToBackground(agentID int64) daemon.Agent {
	r.t.Helper()
	was := agentRow(r.rig, agentID)
	r.personPresses(agentID, tmux.Left)
	r.await("another process", func() (bool, string) { return agentRow(r.rig, agentID).PID != was.PID, r.report() })
	awaitAlertEvent(r.rig, "agent_in_background")
	return agentRow(r.rig, agentID)
}

// TestClaudeInBackground: the agents view.
func TestClaudeInBackground(t *testing.T) {
	for _, c := range runtimeCases {
		if c.name == "claude" {
			newRuntimeRig(t, c).tell(t, []runtimeStory{{"resume", isTakenBackFromTheBackground, nil}})
		}
	}
}
