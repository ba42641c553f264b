//go:build e2e

package stories

import (
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestSuspendedAgentGetsItsMessageAfterFg: A person has stopped the agent with Ctrl-Z, so it is not idle. The daemon
// types nothing into the shell. The agent gets its message when the person has brought it back.
func TestSuspendedAgentGetsItsMessageAfterFg(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	theirs := tmuxtest.Server(t)
	a, shell := startForeignAgent(r, theirs, "")
	r.awaitState(a.ID, daemon.Idle)
	askTmux(r, shell.Socket, "send-keys", "-t", shell.Pane, "C-z")
	stopped := r.awaitState(a.ID, daemon.Waiting)
	if !strings.Contains(stopped.WaitsFor, "fg") || len(r.agentEvents(a.ID, "agent_waiting")) != 1 {
		t.Errorf("the agent waits for %q, want fg and one event", stopped.WaitsFor)
	}
	dl := r.sendMessage(a.ID, "echo typed-into-$((40+2))")
	shellRuns(t, theirs, shell, "echo shell-$((40+2))")
	var shown tmux.View
	tmuxtest.Eventually(t, "the shell answers", func() bool {
		var err error
		shown, err = theirs.Look(t.Context(), shell.Ref)
		return err == nil && strings.Contains(shown.Screen, "shell-42")
	})
	if got := r.deliveries(a.ID)[0]; got.State != daemon.DeliveryQueued || strings.Contains(shown.Screen, "typed-into") {
		t.Errorf("delivery %+v is not queued, or the shell shows %q", got, shown.Screen)
	}
	shellRuns(t, theirs, shell, "fg")
	r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
	if now := r.awaitState(a.ID, daemon.Idle); now.WaitsFor != "" || now.Note != "" {
		t.Errorf("agent %+v after fg", now)
	}
}

// TestAgentStoppedBeforeTypingIsNotTypedTo: The agent is stopped after the daemon has looked at its pane, so the
// shell has the terminal when the text is due. The daemon does not type the text, and it waits again.
func TestAgentStoppedBeforeTypingIsNotTypedTo(t *testing.T) {
	t.Parallel()
	const text = "echo typed-into-$((40+2))"
	g := newGate(t)
	r := newRig(t).bendWith(&bend{commit: func(c *daemon.Change, do func() error) error {
		err := do()
		if err == nil && len(c.Deliveries) == 1 && c.Deliveries[0].State == daemon.DeliveryTyping && c.Deliveries[0].Text == text {
			g.pass() // the typing is the next thing to come
		}
		return err
	}}).start()
	theirs := tmuxtest.Server(t)
	a, shell := startForeignAgent(r, theirs, "")
	r.awaitState(a.ID, daemon.Idle)
	dl := r.sendMessage(a.ID, text)
	g.await(t)
	askTmux(r, shell.Socket, "send-keys", "-t", shell.Pane, "C-z")
	tmuxtest.Eventually(t, "the shell is in front", func() bool {
		p, err := tmux.FindProcess(shell.PID)
		return err == nil && p.InFront()
	})
	g.goOn()
	r.awaitState(a.ID, daemon.Waiting)
	equal(t, "the delivery", r.deliveries(a.ID)[0].State, daemon.DeliveryQueued)
	if view, err := theirs.Look(t.Context(), shell.Ref); err != nil || strings.Contains(view.Screen, "typed-into") {
		t.Errorf("the shell shows %q, %v", view.Screen, err)
	}
	shellRuns(t, theirs, shell, "fg")
	r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
}

// TestStoppedAgentIsKilledNotAsked: The daemon does not type /exit into the shell in front of an agent that was
// stopped with Ctrl-Z.
func TestStoppedAgentIsKilledNotAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	theirs := tmuxtest.Server(t)
	a, shell := startForeignAgent(r, theirs, "")
	r.awaitState(a.ID, daemon.Idle)
	row := agentRow(r, a.ID)
	must(t, row.Process().Signal(syscall.SIGSTOP))
	r.awaitState(a.ID, daemon.Waiting)
	r.stopAgent(a.ID, false)
	r.awaitState(a.ID, daemon.Ended)
	wantStopStages(r, a.ID, daemon.StopTerm, daemon.StopKill)
	if view, err := theirs.Look(t.Context(), shell.Ref); err != nil || strings.Contains(view.Screen, "/exit") {
		t.Errorf("the shell shows %q, %v", view.Screen, err)
	}
}

// shellRuns types a line into the shell in which an agent was stopped. It first waits until tmux has read the agent's
// last output: until then tmux would paste with brackets.
func shellRuns(t *testing.T, theirs *tmux.Server, shell tmux.PaneInfo, line string) {
	t.Helper()
	tmuxtest.Eventually(t, "the agent is suspended", func() bool {
		view, err := theirs.Look(t.Context(), shell.Ref)
		return err == nil && strings.Contains(view.Screen, "has been suspended")
	})
	must(t, theirs.Paste(t.Context(), shell.Ref, line, tmux.PasteOptions{After: []tmux.Key{tmux.Enter}}))
}
