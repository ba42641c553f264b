//go:build e2e

package stories

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// On a machine that is busy with others, the real CLI gives up starting its copy in the background, and its view says "stopped": so no other
// test runs beside this one.

// TestClaudeInBackground: people open the agents view, which moves the session into a process of the CLI's own supervisor.
func TestClaudeInBackground(t *testing.T) {
	r := newClaudeRig(t, obeys)
	r.start()
	r.database() // its connections must outlive the first kill
	r.losesItsPane(r.handsOverInTheBackground(r.startAgent(con)))
	r.isTakenBackFromAPerson()
}

// handsOverInTheBackground: a person opens the agents view in the middle of a turn, while no daemon runs. The next daemon finds the session in
// the background, where the turn goes on. That daemon is killed, and the turn ends. A handoff is asked for while the view is still open, and the
// daemon is killed again. All is told once and done once.
func (r *claudeRig) handsOverInTheBackground(a daemon.Agent) (next daemon.Agent) {
	t, was, idle := r.t, agentRow(r.rig, a.ID), len(r.agentEvents(a.ID, "agent_idle"))
	r.api.SetScript(claudetest.Ask("count the stairs", claudetest.Reply{Text: "There are twelve stairs.", Hold: true}, obeys))
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, "count the stairs").ID, daemon.Submitted)
	r.awaitModelAsked("count the stairs")
	r.awaitState(a.ID, daemon.Working)
	r.halt()
	r.personPresses(a.ID, tmux.Left)
	child := startDaemonChild(r.rig)
	r.await("another process", func() (bool, string) { return agentRow(r.rig, a.ID).PID != was.PID, r.report() })
	moved := agentRow(r.rig, a.ID)
	r.await("the turn goes on in the background", func() (bool, string) { return r.timesAsked("count the stairs") == 2, r.report() })
	if moved.State != daemon.Working {
		t.Errorf("in the middle of its turn the agent is %s", moved.State)
	}
	child.kill()
	r.api.Release()
	r.await("the end of the turn, which waits in the spool", func() (bool, string) {
		files, _ := filepath.Glob(filepath.Join(r.dir.Spool(), "*.json"))
		return slices.ContainsFunc(files, func(f string) bool { return strings.Contains(fileText(f), "There are twelve stairs.") }), fmt.Sprint(files)
	})
	child = startDaemonChild(r.rig)
	a = r.awaitState(a.ID, daemon.Idle)
	if a.LastMessage != "There are twelve stairs." || *a.SessionID == *was.SessionID {
		t.Errorf("agent %+v after its turn, whose session was %s", a, *was.SessionID)
	}
	if n := len(r.agentEvents(a.ID, "agent_idle")); n != idle+1 {
		t.Errorf("the agent became idle %d times after %d, want once\n%s", n, idle, r.report())
	}

	r.api.SetScript(obeys)
	id := r.requestHandoff(a.ID)
	if h := r.awaitNote(id, "a dialog is open in the agent's pane"); h.Phase != daemon.Instructing {
		t.Errorf("handoff %+v while the view is open", h)
	}
	child.kill()
	r.start()
	r.personPresses(a.ID, tmux.Escape)
	h := r.awaitPhase(id, daemon.Completed)
	r.awaitModelAsked("you take over from agent")
	for _, pid := range []int{was.PID, moved.PID} {
		r.await("the end of a process of the outgoing agent", func() (bool, string) { return !alive(pid), r.report() })
	}
	next = awaitTakeover(r.rig, h)
	for _, text := range []string{instructed, "you take over from agent"} {
		requests := r.api.Requests()
		i := len(requests) - 1
		for ; i > 0 && !hasHeard(requests[i], text); i-- {
		}
		if n := strings.Count(strings.Join(requests[i].UserTexts(), "\n"), text); n != 1 {
			t.Errorf("the model was told %q %d times, want once", text, n)
		}
	}
	if n := len(r.agentEvents(a.ID, "agent_in_background")); n != 1 {
		t.Errorf("the operator was told %d times of the background, want once", n)
	}
	if len(handoffsOf(r.rig, a.ID)) != 1 || newestAgent(r.rig).ID != next.ID {
		t.Errorf("handoffs %+v, newest agent %d, want one handoff and one successor", handoffsOf(r.rig, a.ID), newestAgent(r.rig).ID)
	}
	return next
}

// losesItsPane: the person leaves the agents view, and the pane is closed. The agent lives on, and a stop ends it.
func (r *claudeRig) losesItsPane(a daemon.Agent) {
	view := agentRow(r.rig, a.ID).PID
	r.personPresses(a.ID, tmux.Left)
	r.await("another process", func() (bool, string) { return agentRow(r.rig, a.ID).PID != view, r.report() })
	r.personPresses(a.ID, tmux.CtrlC, tmux.CtrlC)
	r.await("the end of the view", func() (bool, string) { return !alive(view), r.report() })
	now := r.awaitAgent(a.ID, "no pane", func(a daemon.Agent) bool { return !a.HasPane() && a.Note != "" })
	if moved := agentRow(r.rig, a.ID).PID; !now.Active() || !alive(moved) {
		r.t.Errorf("agent %+v has ended with its view", now)
	}
	r.stopAgent(a.ID, false)
	r.awaitState(a.ID, daemon.Ended)
}

// isTakenBackFromAPerson: a person opens the agents view in a session of their own, in their own tmux. Nothing is typed there any more. A
// stop ends the session, and leaves the view to the person. After a resume, a pane of ours has the session, with all that was said.
func (r *claudeRig) isTakenBackFromAPerson() {
	r.installHooks()
	person := value(tmux.New(tmux.Config{Socket: r.startForeign(append([]string{r.cli}, manual...)...)}))(r.t)
	a := r.awaitForeign()
	r.talk(a.ID, "remember the number 4711")
	was := agentRow(r.rig, a.ID)
	must(r.t, person.Keys(r.t.Context(), was.Ref(), tmux.Left))
	r.await("another process and no pane", func() (bool, string) {
		now := agentRow(r.rig, a.ID)
		return now.PID != was.PID && !now.HasPane(), r.report()
	})
	moved := agentRow(r.rig, a.ID)
	if told := r.agentEvents(a.ID, "agent_in_background"); len(told) != 1 || !strings.Contains(string(told[0].Payload), "understudy agent resume") {
		r.t.Errorf("the operator was told %+v", told)
	}
	r.await("the hook of the copy", func() (bool, string) { return strings.Contains(r.tap.String(), ": fork"), r.tap.String() })
	r.stopAgent(a.ID, false)
	r.awaitState(a.ID, daemon.Ended)
	if !alive(was.PID) {
		r.t.Error("the view in the person's own pane was ended")
	}
	again := value(r.client.ResumeAgent(r.t.Context(), a.ID))(r.t)
	r.awaitState(again.ID, daemon.Idle)
	r.talk(again.ID, "which number was it?")
	requests := r.api.Requests()
	if said := strings.Join(requests[len(requests)-1].UserTexts(), "\n"); !strings.Contains(said, "remember the number 4711") {
		r.t.Errorf("the resumed model knows %.500q", said)
	}
	if alive(moved.PID) {
		r.t.Error("the process of the old session still runs")
	}
}

// timesAsked counts the requests with which a turn was begun or taken up: the model is asked anew for the copy.
func (r *claudeRig) timesAsked(part string) (n int) {
	for _, req := range r.api.Requests() {
		if hasHeard(req, part) {
			n++
		}
	}
	return n
}

// hasHeard reports whether a request of a session has the part in a text of the user's.
func hasHeard(req claudetest.Request, part string) bool {
	return req.Aside == "" && strings.Contains(strings.Join(req.UserTexts(), "\n"), part)
}
