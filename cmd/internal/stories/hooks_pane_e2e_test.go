//go:build e2e

package stories

import (
	"os"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestHookWithAStrangersPaneIsNotBelieved: A hook may name any pane in $TMUX. The daemon does not put an agent on a
// pane that is not its own, where it would type to somebody else.
func TestHookWithAStrangersPaneIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	ours := r.startAgent(con)
	startPerson(r, nil).sendHook("SessionStart", "outside", r.pane(ours.ID))
	if a := newestAgent(r); a.ID == ours.ID || a.Pane != nil {
		t.Errorf("agent %+v: want one without a pane", a)
	}

	p := startPerson(r, tmuxtest.Server(t))
	stale := p.pane
	stale.ServerPID++ // It is of an earlier server.
	p.sendHook("SessionStart", "stale", stale)
	a := newestAgent(r)
	if a.Pane != nil || *a.SessionID != "stale" {
		t.Errorf("agent %+v: want one without a pane", a)
	}
	p.sendHook("SessionStart", "stale", p.pane)
	if a = r.getAgent(a.ID); a.Pane == nil || *a.Pane != p.pane.Pane {
		t.Errorf("agent %+v: want it in pane %s", a, p.pane.Pane)
	}
}

// TestNoTmuxCommandTalksToAnImpostor: A hook names a socket on which another program listens. With a real tmux client
// that program could make tmux run a command. The session gets no pane and says why, and no tmux command talks to the
// socket.
func TestNoTmuxCommandTalksToAnImpostor(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	fake := tmuxtest.NewImpostor(t) // The impostor is in this process, and so is the session.
	startPerson(r, nil).sendHook("SessionStart", "fooled", tmux.PaneInfo{Ref: tmux.Ref{Socket: fake.Socket, ServerPID: os.Getpid(), Pane: "%0"}})
	if a := newestAgent(r); a.Pane != nil || !strings.Contains(a.Note, "it has no pane") || !strings.Contains(a.Note, "tmux") {
		t.Errorf("agent %+v: want one without a pane, and a note of it", a)
	}
	if fake.Fooled() {
		t.Error("a tmux command talked to the socket")
	}
}

// TestRunInsideAPersonsAgentIsNoAgent: A `claude -p` runs inside an agent that a person started, in the same pane. It
// does not become an agent of its own.
func TestRunInsideAPersonsAgentIsNoAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a, _ := startForeignAgent(r, tmuxtest.Server(t), "")
	r.misbehave("child-hooks")
	dl := r.sendMessage(a.ID, "some work")
	r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
	r.awaitState(a.ID, daemon.Idle)
	equal(t, "agents", len(value(r.client.Agents(t.Context(), allRows))(t)), 1)
	if now := r.getAgent(a.ID); *now.SessionID != *a.SessionID || now.Pane == nil || *now.Pane != *a.Pane {
		t.Errorf("agent\n   was %+v\nand is %+v", a, now)
	}
}
