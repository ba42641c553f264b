//go:build e2e

package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestPersonsAgentHandsOverToOurServer: A person started the agent on another tmux server. It gets a persona and is
// handed over. Its successor runs on our server, and the person's shell stays.
func TestPersonsAgentHandsOverToOurServer(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	theirs := tmuxtest.Server(t)
	// In mode manual, writing needs a permission. It is given for the document alone.
	a, shell := startForeignAgent(r, theirs, "--model opus-of-theirs --permission-mode manual")
	if a.Pane == nil || *a.Pane != shell.Pane || a.PaneSocket != shell.Socket || a.Persona != nil {
		t.Fatalf("agent %+v: want it in pane %s", a, shell.Ref)
	}
	wantHandoffRefused(r, a.ID, daemon.KindInvalid, "Agent has no persona")
	r.assignPersona(a.ID, con)
	a = r.awaitAgent(a.ID, "skill", func(a daemon.Agent) bool { return a.SkillInjectedAt != nil })
	_, err := r.client.AssignPersona(t.Context(), a.ID, "tester-kit-1")
	wantCode(t, err, "agent_has_persona")
	r.wantTold(a.ID, "you play the persona "+con)

	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	r.wantTold(a.ID, "you play the persona", h.Ref)
	r.wantKinds(a.ID, daemon.KindSkill, daemon.KindInstruction, daemon.KindExit)
	next := r.getAgent(*h.SuccessorID)
	if next.PaneSocket != r.dir.TmuxSocket() || next.Generation != 2 || next.Cwd != a.Cwd {
		t.Errorf("successor %+v: want it on our server, in %s", next, a.Cwd)
	}
	holds(t, "the successor has its predecessor's model and mode", strings.Join(launchFile(r, next.ID).Argv, " "), "--model opus-of-theirs", "--permission-mode manual")

	must(t, theirs.Paste(t.Context(), shell.Ref, "echo still-$((40+2))", tmux.PasteOptions{After: []tmux.Key{tmux.Enter}}))
	tmuxtest.Eventually(t, "the person's shell answers", func() bool {
		shown, err := theirs.Capture(t.Context(), 0, false, shell.Ref)
		return err == nil && strings.Contains(shown[shell.Pane], "still-42")
	})

	// The pane says who goes on: also after it was taken away, when the next daemon starts; but not when the successor has ended,
	// also if no daemon ran meanwhile.
	said := func() string {
		return askTmux(r, shell.Socket, "display-message", "-p", "-t", shell.Pane, "#{"+tmux.SaysOption+"}")
	}
	wantSaid := func(want string) {
		t.Helper()
		r.await("the pane says "+want, func() (bool, string) { return said() == want, said() })
	}
	goesOn := fmt.Sprintf("agent %d (%s) goes on: understudy agent attach %[1]d", next.ID, next.Name)
	wantSaid(goesOn)
	askTmux(r, shell.Socket, "set-option", "-pu", "-t", shell.Pane, tmux.SaysOption)
	r.halt()
	r.start()
	wantSaid(goesOn)
	r.halt()
	killAgent(r, next.ID)
	r.start()
	r.awaitState(next.ID, daemon.Ended)
	wantSaid("")
}

// wantHandoffRefused requests a handoff, and fails unless the request is refused with this sentence.
func wantHandoffRefused(r *rig, agentID int64, kind daemon.Kind, sentence string) {
	r.t.Helper()
	_, err := r.client.RequestHandoff(r.t.Context(), agentID, handoffs.HandoffRequest{Force: true})
	wantError(r.t, err, kind, sentence)
}
