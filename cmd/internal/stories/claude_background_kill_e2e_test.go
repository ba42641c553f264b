//go:build e2e

package stories

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// newBackgroundRig makes a rig with Claude Code whose daemon runs in a process of its own, which a story can kill.
func newBackgroundRig(t *testing.T) (*runtimeRig, *daemonChild) {
	t.Helper()
	for _, c := range runtimeCases {
		if c.name == "claude" {
			r := newRuntimeRig(t, c)
			r.halt()
			return r, startDaemonChild(r.rig)
		}
	}
	t.Fatal("no Claude Code among the runtimes")
	return nil, nil
}

// wantPassedOn waits for the end of a handoff and fails unless the work was passed on once, nothing of the outgoing agent
// runs any more, and the operator was told of its move to the background so many times.
func (r *runtimeRig) wantPassedOn(id int64, told int, pids ...int) {
	r.t.Helper()
	h := r.awaitPhase(id, daemon.Completed)
	r.wantOnce("hand over your work")
	r.awaitAsked("you take over from agent")
	r.wantOnce("you take over from agent")
	for _, pid := range pids {
		r.await("the end of a process of the outgoing agent", func() (bool, string) { return !alive(pid), r.report() })
	}
	r.awaitState(*h.SuccessorID, daemon.Idle)
	if n := len(r.agentEvents(h.AgentID, "agent_in_background")); n != told {
		r.t.Errorf("the operator was told %d times of the background, want %d", n, told)
	}
	if len(handoffsOf(r.rig, h.AgentID)) != 1 || newestAgent(r.rig).ID != *h.SuccessorID {
		r.t.Errorf("handoffs %+v, newest agent %d, want one handoff and one successor", handoffsOf(r.rig, h.AgentID), newestAgent(r.rig).ID)
	}
}

// wantIdle fails unless the agent became idle so many times.
func (r *runtimeRig) wantIdle(agentID int64, times int) {
	r.t.Helper()
	if n := len(r.agentEvents(agentID, "agent_idle")); n != times {
		r.t.Errorf("the agent became idle %d times, want %d\n%s", n, times, r.report())
	}
}

// On a machine that is busy with others, the real CLI gives up starting its copy in the background, and its view says "stopped": so no other
// test runs beside those of the background.

// TestClaudeInBackgroundOutlivesTheDaemon: a person opens the agents view in the middle of a turn, while no daemon runs. The
// next daemon finds the session in the background, where the turn goes on. That daemon is killed, and the turn ends. A
// handoff is asked for while the view is still open, and the daemon is killed again. All is told once and done once.
func TestClaudeInBackgroundOutlivesTheDaemon(t *testing.T) {
	r, child := newBackgroundRig(t)
	a := r.newAgent("")
	r.hold(a.ID, "count the stairs", "There are twelve stairs.")
	was := agentRow(r.rig, a.ID)
	child.kill()
	r.personPresses(a.ID, tmux.Left)
	child = startDaemonChild(r.rig)
	r.await("another process", func() (bool, string) { return agentRow(r.rig, a.ID).PID != was.PID, r.report() })
	moved := agentRow(r.rig, a.ID)
	r.await("the turn goes on in the background", func() (bool, string) { return r.copiesAsked("count the stairs") == 2, r.report() })
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
	r.wantIdle(a.ID, 2) // at its start, and after this turn

	r.api.SetScript(complies)
	r.resetExperience()
	id := r.requestHandoff(a.ID)
	h := r.awaitNote(id, "a dialog is open in the agent's pane")
	if h.Phase != daemon.Instructing {
		t.Errorf("handoff %+v while the view is open", h)
	}
	child.kill()
	startDaemonChild(r.rig)
	r.personPresses(a.ID, tmux.Escape)
	r.wantPassedOn(id, 1, was.PID, moved.PID)
}

// copiesAsked counts the requests with which a turn was begun or taken up: the model is asked anew for the copy.
func (r *runtimeRig) copiesAsked(part string) (n int) {
	for _, req := range r.api.Requests() {
		if req.Aside == "" && strings.Contains(strings.Join(req.UserTexts(), "\n"), part) {
			n++
		}
	}
	return n
}

// TestClaudeOfAPersonGoesToTheBackground: a person opens the agents view in a session of their own, in their own tmux. Nothing
// is typed there any more. A stop ends the session, and leaves the view to the person.
func TestClaudeOfAPersonGoesToTheBackground(t *testing.T) {
	r := newClaudeRig(t, obeys)
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: []string{r.cli}}}
	r.installHooks()
	r.start()
	socket := r.startForeign(append([]string{r.cli}, manual...)...)
	r.await("the agent's registration", func() (bool, string) {
		list, err := r.client.Agents(t.Context(), allRows)
		return err == nil && len(list) > 0 && list[0].RegisteredAt != nil, ""
	})
	a := newestAgent(r.rig)
	r.talk(a.ID, "remember the number 4711")
	was := agentRow(r.rig, a.ID)
	person, err := tmux.New(tmux.Config{Socket: socket})
	must(t, err)
	must(t, person.Keys(t.Context(), was.Ref(), tmux.Left))
	r.await("another process and no pane", func() (bool, string) {
		now := agentRow(r.rig, a.ID)
		return now.PID != was.PID && !now.HasPane(), r.report()
	})
	if told := r.agentEvents(a.ID, "agent_in_background"); len(told) != 1 || !strings.Contains(string(told[0].Payload), "understudy agent resume") {
		t.Errorf("the operator was told %+v", told)
	}
	r.await("the hook of the copy", func() (bool, string) { return strings.Contains(r.tap.String(), ": fork"), r.tap.String() })
	r.stopAgent(a.ID, false)
	r.awaitState(a.ID, daemon.Ended)
	if !alive(was.PID) {
		t.Error("the view in the person's own pane was ended")
	}
}
